import { findNearestName } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { isRunByAgent } from "../../processes/agent-mark.ts";
import { formatColumns, usageError } from "./command.ts";
import { COMMANDS, type CommandEntry } from "./commands.ts";
import { printFailure } from "./failure.ts";
import { type Io, PROCESS_IO } from "./io.ts";

/** Finds the command before anything heavy is loaded, and runs it. Returns the exit code. */
export async function main(args: readonly string[], io: Io = PROCESS_IO): Promise<number> {
  // The reader may close the pipe early: `postrider sessions list | head -1`.
  io.output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  try {
    return await dispatch(args, io);
  } catch (error) {
    const { explainMissingPackage } = await import("../../system/load-optional.ts");
    return printFailure(io, explainMissingPackage(error, "This command"), args.includes("--json"));
  }
}

async function dispatch(args: readonly string[], io: Io): Promise<number> {
  if (args[0] === "--version" || args[0] === "-V") {
    const { readVersion } = await import("./version.ts");
    io.output.write(`${readVersion()}\n`);
    return 0;
  }
  if (args[0] === "--help" || args[0] === "-h" || args[0] === "help") return printHelp(args.slice(1), io);
  const words = args.slice(0, args.findIndex((arg) => arg.startsWith("-")) >>> 0);
  const entry = findEntry(words);
  if (entry !== undefined) {
    const rest = args.slice(entry.name === "" ? 0 : entry.name.split(" ").length);
    if (entry.isForAgents !== true && !isHelpAlone(rest)) denyAgents(entry, io);
    const command = await entry.load();
    return command.run(rest, io);
  }
  const group = findGroup(words[0] ?? "");
  if (group.length === 0) throw unknownCommand(words[0] ?? "");
  const wantsHelp = args.slice(1).some((arg) => arg === "--help" || arg === "-h");
  if (words.length === 1 && wantsHelp) return printHelp(words, io);
  const names = group.map(({ name }) => name.split(" ")[1] ?? "");
  const near = words[1] === undefined ? undefined : findNearestName(names, words[1]);
  const hint = near === undefined ? "" : ` Did you mean postrider ${words[0]} ${near}?`;
  throw usageError(`postrider ${words[0]} needs one of ${names.join(", ")}.${hint}`, words[0]);
}

/** The command whose name these words start with; without words, the chat. */
function findEntry(words: readonly string[]): CommandEntry | undefined {
  const matches = ({ name }: CommandEntry): boolean =>
    name.split(" ").every((word, at) => word === words[at]);
  if (words.length === 0) return COMMANDS.find(({ name }) => name === "");
  return COMMANDS.find((entry) => entry.name !== "" && matches(entry));
}

function isHelpAlone(args: readonly string[]): boolean {
  return args.length === 1 && (args[0] === "--help" || args[0] === "-h");
}

/** Commands act as the owner of the home, without approval. */
function denyAgents({ name }: CommandEntry, { environment }: Io): void {
  if (!isRunByAgent(environment)) return;
  throw new PostriderError(
    "run_by_agent",
    `An agent's tool started this command. ${`postrider ${name}`.trim()} acts as the owner of this home, so agents must not run it. Run it yourself, in a shell that no agent started.`,
  );
}

function findGroup(word: string): readonly CommandEntry[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${word} `));
}

async function printHelp(words: readonly string[], io: Io): Promise<number> {
  const entry = words.length === 0 ? undefined : findEntry(words);
  if (entry !== undefined) io.output.write((await entry.load()).help());
  else {
    const group = words[0] === undefined ? COMMANDS.filter(({ name }) => name !== "") : findGroup(words[0]);
    if (words[0] !== undefined && group.length === 0) throw unknownCommand(words[0]);
    const { formatOverview } = await import("./overview.ts");
    io.output.write(
      formatOverview(formatColumns(group.map(({ name, summary }) => [name, summary])), words[0]),
    );
  }
  return 0;
}

function unknownCommand(word: string) {
  const near = findNearestName([...new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? ""))], word);
  const hint =
    near === undefined ? `To ask a question, run postrider -q "${word} …".` : `Did you mean ${near}?`;
  return usageError(`Unknown command "${word}". ${hint}`);
}
