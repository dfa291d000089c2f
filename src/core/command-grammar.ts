/** What a person typed after the slash. */
export interface CommandLine {
  /** Lower-case, without the slash and without the bot it was addressed to. */
  readonly name: string;
  readonly args: string;
}

/**
 * `/resume holiday plans` is a command; anything else is something said, also a path such as `/etc/hosts`, and a word that
 * is longer than any name.
 */
export function parseCommand(text: string): CommandLine | undefined {
  const match = /^\/([\p{L}\p{N}_-]{0,64})(?:@\w+)?(?:\s+([\s\S]*))?$/u.exec(text.trimEnd());
  if (match === null) return undefined;
  return { name: (match[1] ?? "").toLowerCase(), args: (match[2] ?? "").trim() };
}

/** What is said by a line that is no command: `//undo` says `/undo`, since many programs cut a space before it. */
export function unescapeSlash(text: string): string {
  return text.startsWith("//") && parseCommand(text.slice(1)) !== undefined ? text.slice(1) : text;
}

/** What a table of commands must tell about each for it to be found. */
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

/** The name that was probably meant: the only one that begins so, or one that differs by a single slip. */
export function findNearestName(names: readonly string[], typed: string): string | undefined {
  if (typed === "") return undefined;
  const begun = names.filter((name) => name.startsWith(typed));
  return begun.length === 1 ? begun[0] : names.find((name) => isTypo(typed, name));
}

/** One letter more, less, other, or two swapped. */
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
