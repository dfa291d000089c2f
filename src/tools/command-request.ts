import { realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { Watch } from "../core/process.ts";
import { readNumberArgument, readTextArgument, type ToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import { parseWatchRequest } from "./watch-request.ts";

/** The maximum time-out of a command, unless the settings have a larger one. */
export const MAX_TIMEOUT_S = 600;
/** The kernel limits one argument to 128 KiB. */
const MAX_COMMAND_LENGTH = 120_000;
const NO_WATCH: Watch = { mode: "off", patterns: [], wakes: false };

/** A checked command. */
export interface CommandRequest {
  readonly command: string;
  readonly cwd: string;
  readonly background: boolean;
  readonly pty: boolean;
  /** The time-out of a foreground command. */
  readonly timeoutMs: number;
  readonly watch: Watch;
  /** Notes for the model about changed arguments and later notifications. */
  readonly notes: readonly string[];
}

/** Parses the arguments of the model. The error text is for the model. */
export async function parseCommandRequest(
  args: ToolArguments,
  context: ToolContext,
): Promise<CommandRequest> {
  const background = args.background === true;
  const [timeoutMs, timeoutNotes] = parseTimeout(args, background, context);
  const { watch, notes } = background
    ? parseWatchRequest(args, context.watchMode)
    : { watch: NO_WATCH, notes: listIgnoredArguments(args) };
  return {
    command: readCommand(args),
    cwd: await requireFolder(resolveFolder(args, context)),
    background,
    pty: args.pty === true,
    timeoutMs,
    watch,
    notes: [...timeoutNotes, ...notes],
  };
}

/** The folder of the command. Any folder is allowed, because a shell can leave it anyway. */
function resolveFolder(args: ToolArguments, { cwd, environment }: ToolContext): string {
  const folder = readTextArgument(args, "workdir")?.trim() ?? "";
  const home = environment.HOME;
  if (home !== undefined && /^~(\/|$)/.test(folder)) return join(home, folder.slice(1));
  return resolve(cwd, folder);
}

/** The folder without links; a missing folder stays as named, and nothing runs in it. */
export function resolveRealFolder(args: ToolArguments, context: ToolContext): Promise<string> {
  const folder = resolveFolder(args, context);
  return realpath(folder).catch(() => folder);
}

function readCommand(args: ToolArguments): string {
  const command = readTextArgument(args, "command") ?? "";
  if (command.trim() === "") throw new PostriderError("invalid_input", "The command is empty.");
  if (command.includes("\0"))
    throw new PostriderError(
      "invalid_input",
      "The command contains a NUL character, which no shell accepts.",
    );
  if (Buffer.byteLength(command) > MAX_COMMAND_LENGTH)
    throw new PostriderError(
      "too_large",
      `The command is longer than ${MAX_COMMAND_LENGTH} bytes. Write it to a file and run the file.`,
    );
  return command;
}

async function requireFolder(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined)
    throw new PostriderError("not_found", `The folder ${folder} does not exist. Nothing was run.`);
  if (!found.isDirectory())
    throw new PostriderError("invalid_input", `${folder} is not a folder. Nothing was run.`);
  return folder;
}

function parseTimeout(
  args: ToolArguments,
  background: boolean,
  { timeoutMs: defaultMs }: ToolContext,
): [ms: number, notes: readonly string[]] {
  const seconds = readNumberArgument(args, "timeout");
  if (seconds === undefined) return [defaultMs, []];
  if (background)
    return [defaultMs, ["timeout was ignored: a background command runs until it ends or is killed."]];
  const maxMs = Math.max(MAX_TIMEOUT_S * 1000, defaultMs);
  const ms = Math.min(maxMs, Math.max(1, Math.round(seconds * 1000)));
  const note = `timeout was lowered to ${maxMs / 1000} seconds, the maximum; use background for longer work.`;
  return [ms, seconds * 1000 > maxMs ? [note] : []];
}

function listIgnoredArguments(args: ToolArguments): readonly string[] {
  const names = ["check_interval", "watch_patterns", "notify", "notify_on_complete"].filter(
    (name) => args[name] !== undefined && args[name] !== false,
  );
  if (names.length === 0) return [];
  return [`${names.join(", ")} ${names.length === 1 ? "was" : "were"} ignored: only for background.`];
}
