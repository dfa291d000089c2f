/** A command that a person typed. */
export interface CommandLine {
  /** Lower-case, without the slash and without an `@bot` suffix. */
  readonly name: string;
  readonly args: string;
}

/** Parses `/resume holiday plans`. Other text is a message: also a path such as `/etc/hosts`, or an overlong word. */
export function parseCommand(text: string): CommandLine | undefined {
  const match = /^\/([\p{L}\p{N}_-]{0,64})(?:@\w+)?(?:\s+([\s\S]*))?$/u.exec(text.trimEnd());
  if (match === null) return undefined;
  return { name: (match[1] ?? "").toLowerCase(), args: (match[2] ?? "").trim() };
}

/** Turns `//undo` into the message `/undo`. A leading space would not work: many clients remove it. */
export function unescapeSlash(text: string): string {
  return text.startsWith("//") && parseCommand(text.slice(1)) !== undefined ? text.slice(1) : text;
}

/** The fields of a command that `findCommand` needs. */
export interface NamedCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
}

export function findCommand<Command extends NamedCommand>(
  table: readonly Command[],
  name: string,
): Command | undefined {
  return table.find((command) => command.name === name || command.aliases?.includes(name));
}

/** The only name that starts with the typed text, or else one that differs by a single typing error. */
export function findNearestName(names: readonly string[], typed: string): string | undefined {
  if (typed === "") return undefined;
  const matches = names.filter((name) => name.startsWith(typed));
  return matches.length === 1 ? matches[0] : names.find((name) => isTypo(typed, name));
}

/** One letter is added, missing or replaced, or two are swapped. */
function isTypo(typed: string, name: string): boolean {
  let from = 0;
  while (from < typed.length && typed[from] === name[from]) from += 1;
  let to = 0;
  while (to < Math.min(typed.length, name.length) - from && typed.at(-1 - to) === name.at(-1 - to)) to += 1;
  const wrong = typed.slice(from, typed.length - to);
  const right = name.slice(from, name.length - to);
  const swapped = wrong.length === 2 && wrong === [...right].reverse().join("");
  return swapped || (wrong.length <= 1 && right.length <= 1);
}
