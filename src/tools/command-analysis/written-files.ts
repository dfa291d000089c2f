import type { Call } from "./call.ts";
import { isLong } from "./rule.ts";
import { sedEffects } from "./sed-rules.ts";

export interface Writing {
  readonly path: string;
  /** What was there before is gone. */
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

/** The files that a call itself writes, besides those it is redirected to. */
export function findWrittenFiles(call: Call): readonly Writing[] {
  const { program, given, operands, flags } = call;
  const replaced = (paths: readonly string[]): Writing[] => paths.map((path) => ({ path, isReplaced: true }));
  const changed = (paths: readonly string[]): Writing[] => paths.map((path) => ({ path, isReplaced: false }));
  if (program === "tee") return flags.has("a") ? changed(operands) : replaced(operands);
  if (program === "dd")
    return replaced(given.flatMap((arg) => (arg.startsWith("of=") ? [arg.slice(3)] : [])));
  // What is moved away is no longer where it was. A copy to a place is not a loss there: `cp .env.example .env`.
  if (program === "mv") return changed(operands);
  if (program === "cp" || program === "install" || program === "rsync" || program === "ln")
    return operands.length > 1 ? changed([...operands.slice(-1), ...targetsIn(given)]) : [];
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
      ...(given.some((arg) => /^-[a-zA-Z]*i/.test(arg) || isLong(arg, "--in-place"))
        ? changed(operands)
        : []),
      ...changed(sedEffects(call).writes),
    ];
  if (program === "curl") return changed(after(given, /^(?:-[a-zA-Z]*o|--output)$/, /^--output=/));
  if (program === "wget")
    return changed(after(given, /^(?:-[a-zA-Z]*O|--output-document|-P)$/, /^--output-document=/));
  if (program === "tar")
    return changed([
      ...after(given, /^(?:-C|--directory)$/, /^--di[a-z]*=/),
      ...after(given, /^-?[a-zA-Z]*[cru][a-zA-Z]*f$|^-[a-zA-Z]*f$/, /^--file=/),
    ]);
  if (program === "chmod" || program === "chown")
    return changed(operands.slice(1)).filter(({ path }) => path.startsWith("/etc"));
  if (/^(?:find|gfind|bfs)$/.test(program))
    return replaced(after(given, /^-(?:fprint0?|fprintf|fls)$/, /^$/));
  if (program === "sort" || program === "gsort")
    return changed([
      ...after(given, /^(?:-[a-zA-Z]*o|--output)$/, /^--o[a-z]*=/),
      ...given.flatMap((arg) => /^-[bdfgiMhnRrVcCmsuz]*o(.+)$/.exec(arg)?.[1] ?? []),
    ]);
  if (/^(?:unzip|7z|bsdtar|cpio|patch|split|uniq|xxd|gzip|openssl|awk|gawk)$/.test(program))
    return changed([
      ...after(given, /^-(?:d|o|out|D|f)$/, /^--(?:directory|output)=/),
      ...(/^(?:uniq|xxd)$/.test(program) ? operands.slice(1) : []),
    ]);
  return EDITORS.has(program) || program === "truncate" ? changed(operands) : [];
}

function targetsIn(given: readonly string[]): readonly string[] {
  return after(given, /^(?:-t|--target-directory)$/, /^--target-directory=/);
}

/** The value of an option, as the next word or behind its `=`. */
function after(given: readonly string[], name: RegExp, attached: RegExp): string[] {
  return given.flatMap((arg, index) => {
    if (name.test(arg)) return [given[index + 1] ?? ""];
    return attached.test(arg) ? [arg.slice(arg.indexOf("=") + 1)] : [];
  });
}
