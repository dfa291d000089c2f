import type { ShellScript, SimpleCommand } from "./shell-script.ts";

/** The output of a script, if it is known without running it: `echo`, `printf`, `which`. */
export function findPrintedText(script: ShellScript): string | undefined {
  const [line] = script;
  const [member] = line?.members ?? [];
  if (script.length !== 1 || line?.members.length !== 1 || member === undefined) return undefined;
  return "body" in member ? findPrintedText(member.body) : findPrintedByCommand(member);
}

export function findPrintedByCommand({ words, redirects }: SimpleCommand): string | undefined {
  if (redirects.some(({ mode }) => mode === "write" || mode === "append")) return undefined;
  // Keeps the marks of unknown parts, for readers that run the text as a script.
  const [program = "", ...given] = words.map(({ text, markedText }) => markedText ?? text);
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (name === "printf")
    return given[0] === "-v" ? "" : formatPrintf(given[0] === "--" ? given.slice(1) : given);
  if (name === "which" && given.length === 1) return given[0];
  if (name === "command" && given.length === 2 && given[0] === "-v") return given[1];
  if (name !== "echo") return undefined;
  const first = given.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const options = first < 0 ? given : given.slice(0, first);
  const text = (first < 0 ? [] : given.slice(first)).join(" ");
  return options.some((option) => option.includes("e")) ? decodeEscapes(text) : text;
}

function formatPrintf([format = "", ...values]: readonly string[]): string {
  let used = 0;
  const takeNext = (): string => {
    used += 1;
    return decodeEscapes(values[used - 1] ?? "");
  };
  const text = decodeEscapes(format).replace(
    /%(?:%|[-+0 #]{0,4}\d{0,4}(?:\.(\d{0,4}))?[sbdiuoxXcq])/g,
    (all, most) =>
      all === "%%"
        ? "%"
        : all.endsWith("c")
          ? takeNext().slice(0, 1)
          : takeNext().slice(0, most || undefined),
  );
  return [text, ...values.slice(used).map(decodeEscapes)].join("");
}

const ESCAPES: Readonly<Record<string, string | undefined>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  e: "\x1b",
  a: "",
  c: "",
};

/** The escapes of `echo -e`, `printf` and `$'…'`. */
export function decodeEscapes(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|[uU]([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|([\s\S]))/g,
    (_, hex?: string, point?: string, octal?: string, other = "") => {
      const code = hex ?? point;
      if (code !== undefined) return toCharacter(Number.parseInt(code, 16));
      return octal === undefined ? (ESCAPES[other] ?? other) : toCharacter(Number.parseInt(octal, 8));
    },
  );
}

function toCharacter(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}
