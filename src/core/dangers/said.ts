import type { Script, Step } from "./script.ts";

/** What a script prints, where that can be told without running it: `echo` and `printf`. */
export function saidBy(script: Script): string | undefined {
  const [line] = script;
  const [member] = line?.members ?? [];
  if (script.length !== 1 || line?.members.length !== 1 || member === undefined) return undefined;
  return "body" in member ? saidBy(member.body) : saidByStep(member);
}

export function saidByStep({ words, redirects }: Step): string | undefined {
  if (redirects.some(({ way }) => way === "write" || way === "append")) return undefined;
  const [program = "", ...given] = words.map(({ text }) => text);
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (name === "printf") return printed(given);
  if (name !== "echo") return undefined;
  const first = given.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const options = first < 0 ? given : given.slice(0, first);
  const text = (first < 0 ? [] : given.slice(first)).join(" ");
  return options.some((option) => option.includes("e")) ? unescaped(text) : text;
}

function printed([format = "", ...values]: readonly string[]): string {
  let used = 0;
  const next = (): string => {
    used += 1;
    return unescaped(values[used - 1] ?? "");
  };
  const text = unescaped(format).replace(/%[sbdcq]/g, next);
  return [text, ...values.slice(used).map(unescaped)].join("");
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
export function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|[uU]([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|([\s\S]))/g,
    (_, hex?: string, point?: string, octal?: string, other = "") => {
      const code = hex ?? point;
      if (code !== undefined) return character(Number.parseInt(code, 16));
      return octal === undefined ? (ESCAPES[other] ?? other) : character(Number.parseInt(octal, 8));
    },
  );
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}
