import type { Call } from "./call.ts";

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
export function writtenBy({ program, given, operands, flags }: Call): readonly Writing[] {
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
  if (program === "sed" || program === "perl")
    return given.some((arg) => /^-[a-zA-Z]*i|^--in-place/.test(arg)) ? changed(operands) : [];
  if (program === "curl") return changed(after(given, /^(?:-[a-zA-Z]*o|--output)$/, /^--output=/));
  if (program === "wget")
    return changed(after(given, /^(?:-[a-zA-Z]*O|--output-document|-P)$/, /^--output-document=/));
  if (program === "tar") return changed(after(given, /^(?:-C|--directory)$/, /^--directory=/));
  if (program === "chmod" || program === "chown")
    return changed(operands.slice(1)).filter(({ path }) => path.startsWith("/etc"));
  return EDITORS.has(program) ? changed(operands) : [];
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
