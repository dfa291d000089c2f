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
  const listReplaced = (paths: readonly string[]): WrittenFile[] =>
    paths.map((path) => ({ path, isReplaced: true }));
  const listChanged = (paths: readonly string[]): WrittenFile[] =>
    paths.map((path) => ({ path, isReplaced: false }));
  if (program === "tee") return flags.has("a") ? listChanged(operands) : listReplaced(operands);
  if (program === "dd")
    return listReplaced(argTexts.flatMap((arg) => (arg.startsWith("of=") ? [arg.slice(3)] : [])));
  // A move changes its source too. A copy does not count as a loss at its target: `cp .env.example .env`.
  if (program === "mv") return listChanged(operands);
  if (program === "cp" || program === "install" || program === "rsync" || program === "ln")
    return operands.length > 1 ? listChanged([...operands.slice(-1), ...findTargets(argTexts)]) : [];
  if (
    program === "touch" ||
    program === "mkdir" ||
    program === "rm" ||
    program === "rmdir" ||
    program === "unlink"
  )
    return listChanged(operands);
  if (program === "sed" || program === "perl" || program === "gsed" || program === "ruby")
    return [
      ...(argTexts.some((arg) => /^-[a-zA-Z]*i/.test(arg) || isLongOption(arg, "--in-place"))
        ? listChanged(operands)
        : []),
      ...listChanged(findSedEffects(call).writes),
    ];
  if (program === "curl")
    return listChanged(findOptionValues(argTexts, /^(?:-[a-zA-Z]*o|--output)$/, /^--output=/));
  if (program === "wget")
    return listChanged(
      findOptionValues(argTexts, /^(?:-[a-zA-Z]*O|--output-document|-P)$/, /^--output-document=/),
    );
  if (program === "tar")
    return listChanged([
      ...findOptionValues(argTexts, /^(?:-C|--directory)$/, /^--di[a-z]*=/),
      ...findOptionValues(argTexts, /^-?[a-zA-Z]*[cru][a-zA-Z]*f$|^-[a-zA-Z]*f$/, /^--file=/),
    ]);
  if (program === "chmod" || program === "chown")
    return listChanged(operands.slice(1)).filter(({ path }) => path.startsWith("/etc"));
  if (/^(?:find|gfind|bfs)$/.test(program))
    return listReplaced(findOptionValues(argTexts, /^-(?:fprint0?|fprintf|fls)$/, /^$/));
  if (program === "sort" || program === "gsort")
    return listChanged([
      ...findOptionValues(argTexts, /^(?:-[a-zA-Z]*o|--output)$/, /^--o[a-z]*=/),
      ...argTexts.flatMap((arg) => /^-[bdfgiMhnRrVcCmsuz]*o(.+)$/.exec(arg)?.[1] ?? []),
    ]);
  if (/^(?:unzip|7z|bsdtar|cpio|patch|split|uniq|xxd|gzip|openssl|awk|gawk)$/.test(program))
    return listChanged([
      ...findOptionValues(argTexts, /^-(?:d|o|out|D|f)$/, /^--(?:directory|output)=/),
      ...(/^(?:uniq|xxd)$/.test(program) ? operands.slice(1) : []),
    ]);
  return EDITORS.has(program) || program === "truncate" ? listChanged(operands) : [];
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
