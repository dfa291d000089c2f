import { SESSION_KINDS, type SessionKind } from "../../../core/session.ts";
import { usageError } from "../command.ts";

/** Options that filter sessions. */
export const PLATFORM_OPTION = {
  type: "text",
  value: "NAME",
  help: "only sessions from this platform, such as telegram",
} as const;
export const KIND_OPTION = {
  type: "text",
  value: "KIND",
  help: "only sessions of this kind: chat, editor, job, webhook, background; separate several with commas",
} as const;

export function parseKinds(text: string | undefined, command: string): { kinds?: readonly SessionKind[] } {
  if (text === undefined) return {};
  const kinds = text.split(",").map((name) => {
    const kind = SESSION_KINDS.find((known) => known === name.trim());
    if (kind !== undefined) return kind;
    throw usageError(`--kind must be one of ${SESSION_KINDS.join(", ")}, not "${name}"`, command);
  });
  return { kinds };
}

export function parsePlatform(text: string | undefined): { platform?: string } {
  return text === undefined ? {} : { platform: text.toLowerCase() };
}
