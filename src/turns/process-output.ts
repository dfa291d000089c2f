import { type NewMessage, textPart } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import { toPrintable } from "../core/printable.ts";
import type { Process } from "../core/process.ts";
import { formatWakeMessage } from "../core/process-report.ts";
import type { Store } from "../ports/store.ts";
import { toReadableOutput } from "../tools/readable-output.ts";

/** The end of the output of a process, as plain text. */
export interface ProcessTail {
  readonly text: string;
  /** The length of the whole output, up to the end of this text. */
  readonly total: number;
}

/** More than is ever shown, because escape sequences need room, too. */
const TAIL_CHARACTERS = 8000;

export async function readProcessTail(
  store: Pick<Store, "processes">,
  { id, total }: Process,
  limit: number = TAIL_CHARACTERS,
): Promise<ProcessTail> {
  const output = await store.processes.readProcessOutput({ asker: SYSTEM, id, limit });
  return { text: toPlainText(output?.text ?? ""), total: output?.total ?? total };
}

/** The same process, with its matched lines as plain text. */
export function toPlainMatches(process: Process): Process {
  const { matches } = process;
  return { ...process, matches: { ...matches, lines: matches.lines.map(toPlainText) } };
}

function toPlainText(text: string): string {
  return toPrintable(toReadableOutput(text)).toWellFormed();
}

/** Reports the end of a process to the agent as a message of the user role; no person wrote it. */
export function buildWakeMessage(process: Process, output: ProcessTail): NewMessage {
  return {
    role: "user",
    parts: [textPart(formatWakeMessage(process, output.text))],
    origin: { platform: process.target.platform, proactive: true },
  };
}

/** Why the agent does not answer to the end of a process in the chat that gets the report. */
export async function explainNotWoken(store: Store, { session }: Process): Promise<string> {
  const handle = (await store.sessions.getSession({ asker: SYSTEM, session }))?.handle;
  if (handle === undefined) return "The session that it ran for is gone.";
  return `It ran for \`${handle}\`, which is not the session here any more, so the agent does not answer to it: /resume ${handle}`;
}
