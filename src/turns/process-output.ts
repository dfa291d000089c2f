import { SYSTEM } from "../core/owner.ts";
import { toPrintable } from "../core/printable.ts";
import type { Process } from "../core/process.ts";
import type { Store } from "../ports/store.ts";
import { toReadableOutput } from "../tools/readable-output.ts";

/** The last of what a program has printed, as a person reads it. */
export interface ProcessTail {
  readonly text: string;
  /** How much it has printed in all, up to the end of this. */
  readonly total: number;
}

/** More than is ever shown: colours and movements take room, too. */
const TAIL_CHARACTERS = 8000;

export async function readProcessTail(
  store: Pick<Store, "processes">,
  { id, total }: Process,
  limit: number = TAIL_CHARACTERS,
): Promise<ProcessTail> {
  const output = await store.processes.readProcessOutput({ asker: SYSTEM, id, limit });
  return { text: toPlainText(output?.text ?? ""), total: output?.total ?? total };
}

/** The same process, with lines that a person can read. */
export function toPlainMatches(process: Process): Process {
  const { matches } = process;
  return { ...process, matches: { ...matches, lines: matches.lines.map(toPlainText) } };
}

function toPlainText(text: string): string {
  return toPrintable(toReadableOutput(text)).toWellFormed();
}
