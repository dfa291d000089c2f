import { isLongOption } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";
import { findSedEffects } from "./sed-effects.ts";

export interface WrittenFile {
  readonly path: string;
  /** The old content is lost. */
  readonly isReplaced: boolean;
}

const EDITORS: ReadonlySet<string> = new Set([
  "vi",
  "vim",
  "nvim",
  "nano",
  "emacs",
  "ed",
  "ex",
  "pico",
  "micro",
]);

/** The files that a call writes, without redirections. */
export function findWrittenFiles(call: ProgramCall): readonly WrittenFile[] {
  const { program, argTexts, operands, flags } = call;
  const replaced = (paths: readonly string[]): WrittenFile[] =>
    paths.map((path) => ({ path, isReplaced: true }));
  const changed = (paths: readonly string[]): WrittenFile[] =>
    paths.map((path) => ({ path, isReplaced: false }));
  if (program === "tee") return flags.has("a") ? changed(operands) : replaced(operands);
  if (program === "dd")
    return replaced(argTexts.flatMap((arg) => (arg.startsWith("of=") ? [arg.slice(3)] : [])));
  // A move changes its source too. A copy does not count as a loss at its target: `cp .env.example .env`.
  if (program === "mv") return changed(operands);
  if (program === "cp" || program === "install" || program === "rsync" || program === "ln")
    return operands.length > 1 ? changed([...operands.slice(-1), ...findTargets(argTexts)]) : [];
  if (
    program === "touch" ||
    program === "mkdir" ||
    program === "rm" ||
    program === "rmdir" ||
    program === "unlink"
  )
    return changed(operands);
  if (program === "sed" || program === "perl" || program === "gsed" || program === "ruby")
    return [
      ...(argTexts.some((arg) => /^-[a-zA-Z]*i/.test(arg) || isLongOption(arg, "--in-place"))
        ? changed(operands)
        : []),
      ...changed(findSedEffects(call).writes),
    ];
  if (program === "curl")
    return changed(findOptionValues(argTexts, /^(?:-[a-zA-Z]*o|--output)$/, /^--output=/));
  if (program === "wget")
    return changed(
      findOptionValues(argTexts, /^(?:-[a-zA-Z]*O|--output-document|-P)$/, /^--output-document=/),
    );
  if (program === "tar")
    return changed([
      ...findOptionValues(argTexts, /^(?:-C|--directory)$/, /^--di[a-z]*=/),
      ...findOptionValues(argTexts, /^-?[a-zA-Z]*[cru][a-zA-Z]*f$|^-[a-zA-Z]*f$/, /^--file=/),
    ]);
  if (program === "chmod" || program === "chown")
    return changed(operands.slice(1)).filter(({ path }) => path.startsWith("/etc"));
  if (/^(?:find|gfind|bfs)$/.test(program))
    return replaced(findOptionValues(argTexts, /^-(?:fprint0?|fprintf|fls)$/, /^$/));
  if (program === "sort" || program === "gsort")
    return changed([
      ...findOptionValues(argTexts, /^(?:-[a-zA-Z]*o|--output)$/, /^--o[a-z]*=/),
      ...argTexts.flatMap((arg) => /^-[bdfgiMhnRrVcCmsuz]*o(.+)$/.exec(arg)?.[1] ?? []),
    ]);
  if (/^(?:unzip|7z|bsdtar|cpio|patch|split|uniq|xxd|gzip|openssl|awk|gawk)$/.test(program))
    return changed([
      ...findOptionValues(argTexts, /^-(?:d|o|out|D|f)$/, /^--(?:directory|output)=/),
      ...(/^(?:uniq|xxd)$/.test(program) ? operands.slice(1) : []),
    ]);
  return EDITORS.has(program) || program === "truncate" ? changed(operands) : [];
}

function findTargets(given: readonly string[]): readonly string[] {
  return findOptionValues(given, /^(?:-t|--target-directory)$/, /^--target-directory=/);
}

/** The value of an option: the next word, or the text after `=`. */
function findOptionValues(given: readonly string[], name: RegExp, attached: RegExp): string[] {
  return given.flatMap((arg, index) => {
    if (name.test(arg)) return [given[index + 1] ?? ""];
    return attached.test(arg) ? [arg.slice(arg.indexOf("=") + 1)] : [];
  });
}
