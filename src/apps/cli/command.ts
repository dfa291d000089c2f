import { findNearestName } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import type { Io } from "./io.ts";

/** `flag` takes no value, `text` takes a value, `count` takes a whole number from 0. */
export interface CommandOption {
  readonly type: "flag" | "text" | "count";
  readonly short?: string;
  /** The name of the value in the help, such as `FILE`. */
  readonly value?: string;
  readonly help: string;
}

type CommandOptions = Readonly<Record<string, CommandOption>>;
type OptionValue<Type extends CommandOption["type"]> = Type extends "flag"
  ? boolean
  : Type extends "count"
    ? number
    : string;
/** Flags are always present; other options only when the arguments have them. */
export type OptionValues<Given extends CommandOptions> = {
  readonly [Name in keyof Given]: Given[Name]["type"] extends "flag"
    ? boolean
    : OptionValue<Given[Name]["type"]> | undefined;
};

interface CommandDefinition<Given extends CommandOptions> {
  /** The words after `postrider`. */
  readonly name: string;
  /** The positional arguments as the help shows them: `SESSION [TITLE…]`. */
  readonly takes?: string;
  /** The number of positional arguments. None by default. */
  readonly words?: readonly [minWords: number, maxWords: number];
  /** The description in the command's own help. */
  readonly about: string;
  readonly options?: Given;
  readonly examples: readonly Example[];
  /** Returns an exit code, or nothing for 0. */
  run(
    given: { readonly words: readonly string[]; readonly values: OptionValues<Given> },
    io: Io,
  ): Promise<void> | Promise<number>;
}

type Example = readonly [line: string, meaning: string];

export interface Command {
  readonly name: string;
  readonly examples: readonly Example[];
  help(): string;
  /** Parses the arguments after the name and runs the command. */
  run(args: readonly string[], io: Io): Promise<number>;
}

/** For every command whose output a script may read. */
export const JSON_OPTION = { type: "flag", help: "print JSON (format: docs/json.md)" } as const;
/** For every command that reads or changes sessions. */
export const EVERYONE_OPTION = { type: "flag", help: "include the sessions of all people" } as const;

const HELP_OPTION: CommandOption = { type: "flag", short: "h", help: "print this help" };

export function defineCommand<const Given extends CommandOptions>(
  definition: CommandDefinition<Given>,
): Command {
  const options: CommandOptions = { ...definition.options, help: HELP_OPTION };
  const help = (): string => formatHelp(definition, options);
  return {
    name: definition.name,
    examples: definition.examples,
    help,
    async run(args, io) {
      const { words, values } = parseArguments(definition.name, args, options);
      if (values.help === true) {
        io.output.write(help());
        return 0;
      }
      const [minWords, maxWords] = definition.words ?? [0, 0];
      if (words.length < minWords || words.length > maxWords) {
        const expected = maxWords === 0 ? "no words" : `${definition.takes}`;
        throw usageError(`postrider ${definition.name} takes ${expected}.`, definition.name);
      }
      const code = await definition.run({ words, values: values as OptionValues<Given> }, io);
      return typeof code === "number" ? code : 0;
    },
  };
}

function parseArguments(name: string, args: readonly string[], options: CommandOptions) {
  try {
    const { values, positionals } = process.getBuiltinModule("node:util").parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(options).map(([option, { type, short }]) => [
          option,
          { type: type === "flag" ? "boolean" : "string", ...(short !== undefined && { short }) } as const,
        ]),
      ),
    });
    const read = Object.entries(options).map(([option, { type }]) => {
      const value = values[option];
      if (type === "flag") return [option, value === true] as const;
      return [
        option,
        type === "count" && value !== undefined ? parseCount(option, String(value)) : value,
      ] as const;
    });
    return { words: positionals, values: Object.fromEntries(read) };
  } catch (error) {
    throw usageError(findUnknownOption(args, options) ?? (error as Error).message, name);
  }
}

/** Names the first unknown option and the most similar known one. */
function findUnknownOption(args: readonly string[], options: CommandOptions): string | undefined {
  const end = args.indexOf("--");
  const names = args
    .slice(0, end < 0 ? undefined : end)
    .flatMap((arg) => (arg.startsWith("--") ? [arg.slice(2).replace(/=.*$/s, "")] : []));
  const unknown = names.find((name) => !Object.hasOwn(options, name));
  if (unknown === undefined) return undefined;
  const near = findNearestName(Object.keys(options), unknown);
  const hint = near === undefined ? "" : ` Did you mean --${near}?`;
  return `Unknown option --${unknown.slice(0, 60)}.${hint}`;
}

function parseCount(option: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Error(`--${option} must be a whole number, not "${text}".`);
}

/** The error for wrong arguments: exit code 2. */
export function usageError(sentence: string, command = ""): PostriderError {
  const help = `See postrider ${command} --help.`.replace("  ", " ");
  return new PostriderError(
    "invalid_input",
    `${/[.?!]$/.test(sentence) ? sentence : `${sentence}.`} ${help}`,
    {
      details: { arguments: true },
    },
  );
}

function formatHelp(
  { name, takes, about, examples }: Omit<CommandDefinition<CommandOptions>, "run">,
  options: CommandOptions,
): string {
  const usage = ["postrider", name, takes, "[options]"].filter(Boolean).join(" ");
  const named = Object.entries(options).map(([option, { short, value, type, help }]) => {
    const given = type === "flag" ? "" : ` ${value ?? (type === "count" ? "N" : "TEXT")}`;
    return [`${short === undefined ? "    " : `-${short}, `}--${option}${given}`, help] as const;
  });
  return [
    `Usage: ${usage}`,
    about,
    `Options:\n${formatColumns(named)}`,
    `Examples:\n${formatColumns(examples)}`,
    "",
  ]
    .join("\n\n")
    .replace(/\n\n$/, "\n");
}

/** Formats two columns. */
export function formatColumns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`).join("\n");
}
