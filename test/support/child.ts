import { type ChildProcess, spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A child process that communicates in lines of JSON. */
export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Sends one line to the child. */
  tell(line: unknown): void;
  /** The first past or future line that matches. Rejects if the child exits without it. */
  heard<Line>(fits: (line: Line) => boolean): Promise<Line>;
  /** All lines of the child in order. Complete when `ended` has resolved. */
  readonly lines: readonly unknown[];
  /** The exit, after the last line was read. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Starts a TypeScript file with the same Node. `wrap` is a command that runs it; `onLine` gets each line at once. */
export function startChild(
  file: URL,
  args: readonly string[],
  wrap: (command: readonly string[]) => readonly string[] = (command) => command,
  onLine: (line: unknown) => void = () => {},
): Child {
  const [command = "", ...rest] = wrap([process.execPath, fileURLToPath(file), ...args]);
  const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
  const lines: unknown[] = [];
  const waiting = new Set<(line: unknown) => void>();
  const endings = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = JSON.parse(text) as unknown;
    lines.push(line);
    onLine(line);
    for (const look of [...waiting]) look(line);
  });
  // Writing to a killed child fails; its exit is what counts.
  child.stdin.on("error", () => {});
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      for (const end of endings) end();
      resolve({ code, signal });
    });
  });
  return {
    process: child,
    get pid() {
      if (child.pid === undefined) throw new Error("the child did not start");
      return child.pid;
    },
    tell: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
    heard: <Line>(fits: (line: Line) => boolean) =>
      new Promise<Line>((resolve, reject) => {
        const said = lines.find((line) => fits(line as Line));
        if (said !== undefined) return resolve(said as Line);
        const settle = (): void => {
          waiting.delete(look);
          endings.delete(end);
        };
        const look = (line: unknown): void => {
          if (!fits(line as Line)) return;
          settle();
          resolve(line as Line);
        };
        const end = (): void => {
          settle();
          reject(new Error("the child ended without this line"));
        };
        waiting.add(look);
        endings.add(end);
      }),
    lines,
    ended,
  };
}

/** In a child: writes one line. It is in the pipe when this returns, even if the process crashes then. */
export function say(line: unknown): void {
  keepCompiled();
  let rest = Buffer.from(`${JSON.stringify(line)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(asleep, 0, 0, 1); // the pipe is full: waits for the reader
    }
  }
}

let isKept = false;

/** A child that is killed does not write the compile cache at its end, so that the next would compile everything again. */
function keepCompiled(): void {
  if (isKept) return;
  isKept = true;
  flushCompileCache();
}

const asleep = new Int32Array(new SharedArrayBuffer(4));

/** In a child: the lines from the parent. */
export async function* told<Line>(): AsyncGenerator<Line> {
  for await (const text of createInterface({ input: process.stdin })) yield JSON.parse(text) as Line;
}

/** In a child that reads no more lines: exits when the parent has ended. */
export function endWithParent(): void {
  process.stdin.on("end", () => process.exit(1)).resume();
}
