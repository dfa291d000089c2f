import { type NewMessage, textPart } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import type { Process } from "../core/process.ts";
import { formatWakeMessage } from "../core/process-report.ts";
import type { Store } from "../ports/store.ts";
import type { ProcessTail } from "./process-output.ts";

/** Nobody has said it: it is the end of a program, told to the agent as if somebody had. */
export function buildWakeMessage(process: Process, output: ProcessTail): NewMessage {
  return {
    role: "user",
    parts: [textPart(formatWakeMessage(process, output.text))],
    origin: { platform: process.target.platform, proactive: true },
  };
}

/** Why the agent does not answer to the end of a program where it is told. */
export async function explainNotWoken(store: Store, { session }: Process): Promise<string> {
  const handle = (await store.sessions.getSession({ asker: SYSTEM, session }))?.handle;
  if (handle === undefined) return "The session that it ran for is gone.";
  return `It ran for \`${handle}\`, which is not the session here any more, so the agent does not answer to it: /resume ${handle}`;
}
