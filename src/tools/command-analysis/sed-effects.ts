import type { ProgramCall } from "./program-call.ts";
import { readSed, type SedEffects } from "./sed-script.ts";

const NO_EFFECTS: SedEffects = { runs: [], writes: [], reads: [] };

/** The side effects of a sed call: files and commands. */
export function findSedEffects({ program, argTexts, operands }: ProgramCall): SedEffects {
  if (program !== "sed" && program !== "gsed") return NO_EFFECTS;
  const scripts = argTexts.flatMap((arg, at) => {
    const long = /^--e[a-z]*=([\s\S]*)$/.exec(arg)?.[1];
    if (long !== undefined) return [long];
    if (/^-[nrEszui]*e$|^--expression$/.test(arg)) return [argTexts[at + 1] ?? ""];
    return /^-[nrEszu]*e./.test(arg) ? [arg.replace(/^-[nrEszu]*e/, "")] : [];
  });
  const all = scripts.length > 0 ? scripts : operands.slice(0, 1);
  return readSed(all.join("\n"));
}
