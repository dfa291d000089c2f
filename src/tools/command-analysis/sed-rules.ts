import type { Call } from "./call.ts";
import { readSed, type SedEffects } from "./sed-script.ts";

const NONE: SedEffects = { runs: [], writes: [], reads: [] };

/** What the script that sed is given does outside of its text. */
export function sedEffects({ program, given, operands }: Call): SedEffects {
  if (program !== "sed" && program !== "gsed") return NONE;
  const scripts = given.flatMap((arg, at) => {
    const long = /^--e[a-z]*=([\s\S]*)$/.exec(arg)?.[1];
    if (long !== undefined) return [long];
    if (/^-[nrEszui]*e$|^--expression$/.test(arg)) return [given[at + 1] ?? ""];
    return /^-[nrEszu]*e./.test(arg) ? [arg.replace(/^-[nrEszu]*e/, "")] : [];
  });
  const all = scripts.length > 0 ? scripts : operands.slice(0, 1);
  return readSed(all.join("\n"));
}
