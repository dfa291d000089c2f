import { constants } from "node:os";
import type { Exit } from "../core/process.ts";

export const UNKNOWN_EXIT_TEXT =
  "It has ended, but its exit code is unknown, because the process keeper had crashed.";

/** The exit code, or the negative signal number. `null` if unknown. */
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
