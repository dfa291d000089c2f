import { realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { Watch } from "../core/process.ts";
import { readNumberArgument, readTextArgument, type ToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import { parseWatchRequest } from "./watch-request.ts";

/** Nobody waits longer for a command, unless settings say so. */
export const LONGEST_TIMEOUT_S = 600;
/** The kernel gives a program no longer argument than 128 KiB. */
const LONGEST_COMMAND = 120_000;
const NO_WATCH: Watch = { mode: "off", patterns: [], wakes: false };

/** A command that can be run. */
export interface CommandRequest {
  readonly command: string;
  readonly cwd: string;
  readonly background: boolean;
  readonly pty: boolean;
  /** How long it is waited for. */
  readonly timeoutMs: number;
  readonly watch: Watch;
  /** What was made of it otherwise than asked for, and what will happen by itself. */
  readonly notes: readonly string[];
}

/** From what the model gave. Throws with a sentence for the model. */
export async function parseCommandRequest(given: ToolArguments, hands: ToolContext): Promise<CommandRequest> {
  const background = given.background === true;
  const [timeoutMs, timeoutNotes] = parseTimeout(given, background, hands);
  const { watch, notes } = background
    ? parseWatchRequest(given, hands.watchMode)
    : { watch: NO_WATCH, notes: listIgnoredArguments(given) };
  return {
    command: readCommand(given),
    cwd: await requireFolder(resolveFolder(given, hands)),
    background,
    pty: given.pty === true,
    timeoutMs,
    watch,
    notes: [...timeoutNotes, ...notes],
  };
}

/** Where it is to run. A shell may leave the folder, so any will do. */
function resolveFolder(given: ToolArguments, { cwd, environment }: ToolContext): string {
  const folder = readTextArgument(given, "workdir")?.trim() ?? "";
  const home = environment.HOME;
  if (home !== undefined && /^~(\/|$)/.test(folder)) return join(home, folder.slice(1));
  return resolve(cwd, folder);
}

/** The same without links; what is not there is as it was named, and nothing will run in it. */
export function resolveRealFolder(given: ToolArguments, hands: ToolContext): Promise<string> {
  const folder = resolveFolder(given, hands);
  return realpath(folder).catch(() => folder);
}

function readCommand(given: ToolArguments): string {
  const command = readTextArgument(given, "command") ?? "";
  if (command.trim() === "") throw new PostriderError("invalid_input", "The command is empty.");
  if (command.includes("\0"))
    throw new PostriderError("invalid_input", "The command holds a NUL character, which no shell takes.");
  if (Buffer.byteLength(command) > LONGEST_COMMAND)
    throw new PostriderError(
      "too_large",
      `The command is longer than ${LONGEST_COMMAND} bytes. Write it into a file and run that.`,
    );
  return command;
}

async function requireFolder(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined)
    throw new PostriderError("not_found", `There is no folder ${folder}. Nothing was run.`);
  if (!found.isDirectory())
    throw new PostriderError("invalid_input", `${folder} is not a folder. Nothing was run.`);
  return folder;
}

function parseTimeout(
  given: ToolArguments,
  background: boolean,
  { timeoutMs: usual }: ToolContext,
): [ms: number, notes: readonly string[]] {
  const seconds = readNumberArgument(given, "timeout");
  if (seconds === undefined) return [usual, []];
  if (background) return [usual, ["timeout is not for background: it runs until it ends or is killed."]];
  const longest = Math.max(LONGEST_TIMEOUT_S * 1000, usual);
  const ms = Math.min(longest, Math.max(1, Math.round(seconds * 1000)));
  const note = `timeout was lowered to ${longest / 1000} seconds, the most there is; use background for what takes longer.`;
  return [ms, seconds * 1000 > longest ? [note] : []];
}

function listIgnoredArguments(given: ToolArguments): readonly string[] {
  const names = ["check_interval", "watch_patterns", "notify", "notify_on_complete"].filter(
    (name) => given[name] !== undefined && given[name] !== false,
  );
  if (names.length === 0) return [];
  return [`${names.join(", ")} did nothing: ${names.length === 1 ? "it is" : "they are"} for background.`];
}
