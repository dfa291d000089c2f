import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Fifos {
  /** What a program gets as its input and as both of its outputs. */
  readonly ends: readonly [input: number, output: number];
  readonly input: Socket;
  readonly output: Socket;
  /** To be called when the program has its ends: else its output never closes. */
  letGo(): void;
}

/**
 * Two pipes of the kernel. What Node gives a child by itself are sockets, which no program can open again as /dev/stdin
 * or /dev/stderr, as many scripts do; and one pipe for both outputs keeps what is printed in order.
 */
export async function openFifos(): Promise<Fifos> {
  const { folder, paths } = await makeFifos("in", "out");
  const [input = "", output = ""] = paths;
  const opened: number[] = [];
  const open = (file: string, flags: number): number => {
    const handle = openSync(file, flags);
    opened.push(handle);
    return handle;
  };
  try {
    // In this order nobody waits: each of the program's ends finds the other one open.
    const ours = [
      open(input, constants.O_RDWR | constants.O_NONBLOCK),
      open(output, constants.O_RDONLY | constants.O_NONBLOCK),
    ] as const;
    const ends = [open(input, constants.O_RDONLY), open(output, constants.O_WRONLY)] as const;
    return {
      ends,
      input: new Socket({ fd: ours[0], readable: false, writable: true }),
      output: new Socket({ fd: ours[1], readable: true, writable: false }),
      letGo: () => {
        for (const end of ends) closeSync(end);
      },
    };
  } catch (error) {
    for (const handle of opened) closeSync(handle);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true }); // who has them open keeps them
  }
}

/** Pipes with names, in a folder of their own that nobody else may look into. */
export async function makeFifos(
  ...names: readonly string[]
): Promise<{ readonly folder: string; readonly paths: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-pipes-"));
  const paths = names.map((name) => join(folder, name));
  try {
    await run("mkfifo", ["-m", "600", ...paths]);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return { folder, paths };
}
