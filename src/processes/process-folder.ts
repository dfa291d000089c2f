import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Exit, isProcessId } from "../core/process.ts";
import { makeFifos } from "./make-fifos.ts";
import { getSignalName } from "./signal-name.ts";

/**
 * The files of one process, private to the user: its output until that is in its row, how it ended, and the pipes to speak
 * to it. They outlive the keeper; the next keeper goes on with them.
 */
export interface ProcessFolder {
  readonly id: string;
  readonly path: string;
  getFilePath(name: ProcessFile): string;
  /** The parts of the output are numbered from 0. */
  getPartPath(number: number): string;
  /** The wrapper shell has seen the end of the command. */
  readExit(): { readonly exit: Exit; readonly at: number } | undefined;
  hasFile(name: ProcessFile): boolean;
  remove(): void;
}

export type ProcessFile =
  /** A named pipe: what the command reads. */
  | "in"
  /** A named pipe: a line in it makes the recorder close the input. */
  | "end"
  /** A named pipe: what the command prints. Only its open ends are used. */
  | "out"
  /** A named pipe: a line in it lets a command with a terminal begin. */
  | "gate"
  /** Written by the wrapper shell: `code 3` or `signal 15`, and a line break. */
  | "exit"
  /** There when nobody can print any more and all output is in the parts. */
  | "drained"
  /** There when the input was closed on request. */
  | "input-ended"
  /** A named pipe that the recorder holds open: the secrets of the process stay in it, in memory, for the next keeper. */
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
    // The recorder may still write a file into it, which makes one attempt fail.
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 1 }),
  };
}

/** A new folder with these named pipes. */
export async function createProcessFolder(
  root: string,
  id: string,
  ...pipes: readonly ProcessFile[]
): Promise<ProcessFolder> {
  const folder = openProcessFolder(root, id);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  folder.remove(); // of a start that was cut off before its command began
  mkdirSync(folder.path, { mode: 0o700 });
  try {
    await makeFifos(pipes.map((name) => folder.getFilePath(name)));
  } catch (error) {
    folder.remove();
    throw error;
  }
  return folder;
}

/** The ids of all processes that have a folder there. */
export function listProcessFolders(root: string): readonly string[] {
  try {
    return readdirSync(root).filter(isProcessId);
  } catch {
    return []; // there was none yet
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
  if (number === undefined) return undefined; // it is being written
  return { at, exit: kind === "code" ? { code: Number(number) } : { signal: getSignalName(Number(number)) } };
}
