import { nearestName } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { isRunByAgent } from "../../processes/agent-mark.ts";
import { columns, wrongArguments } from "./command.ts";
import { COMMANDS, type Entry } from "./commands.ts";
import { tellFailure } from "./failure.ts";
import { type Io, PROCESS } from "./io.ts";

/** Finds the command before anything heavy is loaded, and runs it. Returns the exit code. */
export async function main(args: readonly string[], io: Io = PROCESS): Promise<number> {
  // Whoever reads our output may have seen enough: `postrider sessions list | head -1`.
  io.output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  try {
    return await dispatch(args, io);
  } catch (error) {
    return tellFailure(io, error, args.includes("--json"));
  }
}

async function dispatch(args: readonly string[], io: Io): Promise<number> {
  if (args[0] === "--version" || args[0] === "-V") {
    const { version } = await import("./version.ts");
    io.output.write(`${version()}\n`);
    return 0;
  }
  if (args[0] === "--help" || args[0] === "-h" || args[0] === "help") return help(args.slice(1), io);
  const words = args.slice(0, args.findIndex((arg) => arg.startsWith("-")) >>> 0);
  const entry = entryFor(words);
  if (entry !== undefined) {
    const rest = args.slice(entry.name === "" ? 0 : entry.name.split(" ").length);
    if (entry.isForAgents !== true && !isHelpAlone(rest)) refuseAgents(entry, io);
    const command = await entry.load();
    return command.run(rest, io);
  }
  const group = groupOf(words[0] ?? "");
  if (group.length === 0) throw unknown(words[0] ?? "");
  const asked = args.slice(1).some((arg) => arg === "--help" || arg === "-h");
  if (words.length === 1 && asked) return help(words, io);
  const names = group.map(({ name }) => name.split(" ")[1] ?? "");
  const near = words[1] === undefined ? undefined : nearestName(names, words[1]);
  const hint = near === undefined ? "" : ` Did you mean postrider ${words[0]} ${near}?`;
  throw wrongArguments(`postrider ${words[0]} needs one of ${names.join(", ")}.${hint}`, words[0]);
}

/** The command whose name these words begin with; without words, the chat. */
function entryFor(words: readonly string[]): Entry | undefined {
  const begins = ({ name }: Entry): boolean => name.split(" ").every((word, at) => word === words[at]);
  if (words.length === 0) return COMMANDS.find(({ name }) => name === "");
  return COMMANDS.find((entry) => entry.name !== "" && begins(entry));
}

function isHelpAlone(args: readonly string[]): boolean {
  return args.length === 1 && (args[0] === "--help" || args[0] === "-h");
}

/** Here everything is done as the owner of the home, and nobody is asked. */
function refuseAgents({ name }: Entry, { environment }: Io): void {
  if (!isRunByAgent(environment)) return;
  throw new PostriderError(
    "run_by_agent",
    `An agent's tool has started this, and ${`postrider ${name}`.trim()} acts as the owner of this home, so it is refused. Run it yourself, in a shell that the agent has not started.`,
  );
}

function groupOf(word: string): readonly Entry[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${word} `));
}

async function help(words: readonly string[], io: Io): Promise<number> {
  const entry = words.length === 0 ? undefined : entryFor(words);
  if (entry !== undefined) io.output.write((await entry.load()).help());
  else {
    const group = words[0] === undefined ? COMMANDS.filter(({ name }) => name !== "") : groupOf(words[0]);
    if (words[0] !== undefined && group.length === 0) throw unknown(words[0]);
    const { overview } = await import("./overview.ts");
    io.output.write(overview(columns(group.map(({ name, summary }) => [name, summary])), words[0]));
  }
  return 0;
}

function unknown(word: string) {
  const near = nearestName([...new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? ""))], word);
  const hint =
    near === undefined ? `To ask something, write postrider -q "${word} …".` : `Did you mean ${near}?`;
  return wrongArguments(`There is no command "${word}". ${hint}`);
}
