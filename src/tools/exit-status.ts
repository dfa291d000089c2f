import { constants } from "node:os";
import type { Exit } from "../core/process.ts";

export const UNKNOWN_EXIT_TEXT = "It has ended, but nobody saw how: what looked after it was gone by then.";

/** As programs give it: a code, or the number of the signal below zero. `null` when nobody knows. */
export function toExitCode(exit: Exit): number | null {
  if ("code" in exit) return exit.code;
  if ("unknown" in exit) return null;
  const number = Object.entries(constants.signals).find(([name]) => name === exit.signal)?.[1];
  return number === undefined ? null : -number;
}

export function describeExitStatus(exit: Exit): string {
  if ("code" in exit) return `Exit code ${exit.code}.`;
  return "signal" in exit ? `Ended by ${exit.signal}.` : UNKNOWN_EXIT_TEXT;
}
