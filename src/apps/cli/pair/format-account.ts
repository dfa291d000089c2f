import type { AccountName } from "../../../core/access.ts";
import { toOneLine } from "../../../core/printable.ts";

/** Formats an account as JSON; see docs/json.md. */
export function formatAccountJson({ platform, userId, altId, name }: AccountName): object {
  return { platform, user_id: userId ?? null, user_id_alt: altId ?? null, user_name: name ?? null };
}

/** Formats an account as `Ada (42 on telegram)`. */
export function formatAccount({ platform, userId, altId, name }: AccountName): string {
  const id = `${toOneLine(userId ?? altId ?? "")} on ${platform}`;
  return name === undefined ? id : `${toOneLine(name)} (${id})`;
}
