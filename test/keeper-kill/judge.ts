import { type Exit, KEPT_OUTPUT } from "../../src/core/process.ts";

/** A command that prints numbered lines until it is stopped, then their number, and exits with its own code. */
export interface Printer {
  readonly name: string;
  readonly pty: boolean;
  readonly exit: number;
}

/** The row of a printer at the end. */
export interface Printed {
  readonly text: string;
  /** The offset of the text's first character in the whole output. */
  readonly from: number;
  readonly total: number;
  readonly exit: Exit | undefined;
}

export interface PrintFindings {
  readonly lines: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly errors: readonly string[];
}

/** Compares every stored line with the expected one, and the number of characters with the total. */
export function judgePrinter({ name, pty, exit }: Printer, printed: Printed): PrintFindings {
  const newline = pty ? "\r\n" : "\n";
  const [lost, doubled, errors]: [string[], string[], string[]] = [[], [], []];
  const lines = Number(/end (\d+)\r?\n$/.exec(printed.text)?.[1] ?? Number.NaN);
  if (Number.isNaN(lines)) {
    return { lines: 0, lost: [`${name}: its last line, after ${printed.text.slice(-40)}`], doubled, errors };
  }
  const all: string[] = [];
  for (let line = 1; line <= lines; line += 1) all.push(`${name} line ${line}${newline}`);
  const expected = `${all.join("")}end ${lines}${newline}`;
  const kept = printed.text.split(newline).filter((line) => line.startsWith(`${name} line`));
  if (new Set(kept).size < kept.length) doubled.push(`${name}: ${kept.length - new Set(kept).size} lines`);
  if (printed.total < expected.length) lost.push(`${name}: ${expected.length - printed.total} characters`);
  if (printed.total > expected.length) doubled.push(`${name}: ${printed.total - expected.length} characters`);
  if (printed.text !== expected.slice(printed.from))
    errors.push(`${name}: what is kept is not what it printed, from character ${printed.from} on`);
  if (printed.text.length < Math.min(expected.length, KEPT_OUTPUT))
    errors.push(`${name}: only ${printed.text.length} characters are kept`);
  if (printed.exit === undefined || !("code" in printed.exit) || printed.exit.code !== exit)
    errors.push(`${name}: it ended with ${JSON.stringify(printed.exit)}, not with code ${exit}`);
  return { lines, lost, doubled, errors };
}
