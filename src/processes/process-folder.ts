import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Exit, isProcessId } from "../core/process.ts";
import { makeFifos } from "./make-fifos.ts";
import { getSignalName } from "./signals.ts";

/**
 * The files of one process, private to the user: its output until that is in the row, its exit, and the pipes to it. They
 * outlive the keeper; the next keeper continues with them.
 */
export interface ProcessFolder {
  readonly id: string;
  readonly path: string;
  getFilePath(name: ProcessFile): string;
  /** The parts of the output are numbered from 0. */
  getPartPath(number: number): string;
  /** The exit of the command, as the wrapper shell wrote it. */
  readExit(): { readonly exit: Exit; readonly at: number } | undefined;
  hasFile(name: ProcessFile): boolean;
  remove(): void;
}

export type ProcessFile =
  /** A named pipe: the input of the command. */
  | "in"
  /** A named pipe: a line in it makes the recorder close the input. */
  | "end"
  /** A named pipe: the output of the command. Only its open ends are used. */
  | "out"
  /** A named pipe: a line in it lets a command with a terminal start. */
  | "gate"
  /** Written by the wrapper shell: `code 3` or `signal 15`, and a newline. */
  | "exit"
  /** Exists when no process can print any more and all output is in the parts. */
  | "drained"
  /** Exists when the input was closed on request. */
  | "input-ended"
  /** A named pipe that the recorder holds open: it keeps the secrets of the process in memory for the next keeper. */
  | "secrets";

export function openProcessFolder(root: string, id: string): ProcessFolder {
  const path = join(root, id);
  const at = (name: string): string => join(path, name);
  return {
    id,
    path,
    getFilePath: at,
    getPartPath: (number) => at(`out.${number}`),
    readExit: () => parseExitFile(at("exit")),
    hasFile: (name) => statSync(at(name), { throwIfNoEntry: false }) !== undefined,
    // The recorder may still create a file in it, which makes one attempt fail.
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 1 }),
  };
}

/** Creates a folder with these named pipes. */
export async function createProcessFolder(
  root: string,
  id: string,
  ...pipes: readonly ProcessFile[]
): Promise<ProcessFolder> {
  const folder = openProcessFolder(root, id);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  folder.remove(); // of a start that was interrupted before its command ran
  mkdirSync(folder.path, { mode: 0o700 });
  try {
    await makeFifos(pipes.map((name) => folder.getFilePath(name)));
  } catch (error) {
    folder.remove();
    throw error;
  }
  return folder;
}

/** The ids of all processes that have a folder in the root. */
export function listProcessFolders(root: string): readonly string[] {
  try {
    return readdirSync(root).filter(isProcessId);
  } catch {
    return []; // no process was started yet
  }
}

function parseExitFile(path: string): { readonly exit: Exit; readonly at: number } | undefined {
  let text: string;
  let at: number;
  try {
    text = readFileSync(path, "utf8");
    at = Math.round(statSync(path).mtimeMs);
  } catch {
    return undefined;
  }
  const [, kind, number] = /^(code|signal) (\d+)\n$/.exec(text) ?? [];
  if (number === undefined) return undefined; // the write is in progress
  return { at, exit: kind === "code" ? { code: Number(number) } : { signal: getSignalName(Number(number)) } };
}
