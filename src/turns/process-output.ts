import { SYSTEM } from "../core/owner.ts";
import { printable } from "../core/printable.ts";
import type { Process } from "../core/process.ts";
import type { Store } from "../ports/store.ts";
import { readable } from "../tools/output.ts";

/** The last of what a program has printed, as a person reads it. */
export interface Printed {
  readonly text: string;
  /** How much it has printed in all, up to the end of this. */
  readonly total: number;
}

/** More than is ever shown: colours and movements take room, too. */
const READ = 8000;

export async function printed(
  store: Pick<Store, "processOutput">,
  { id, total }: Process,
  limit: number = READ,
): Promise<Printed> {
  const output = await store.processOutput({ asker: SYSTEM, id, limit });
  return { text: plain(output?.text ?? ""), total: output?.total ?? total };
}

/** The same process, with lines that a person can read. */
export function withPlainLines(process: Process): Process {
  const { matches } = process;
  return { ...process, matches: { ...matches, lines: matches.lines.map(plain) } };
}

function plain(text: string): string {
  return printable(readable(text)).toWellFormed();
}
