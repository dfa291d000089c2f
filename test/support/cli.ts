import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

export interface CliEnded {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface CliRun {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<CliEnded>;
}

/** Starts the CLI in this home. `wrap` is a command that runs it. */
export function startCli(
  home: string,
  args: readonly string[],
  wrap: (command: readonly string[]) => readonly string[] = (command) => command,
): CliRun {
  const [command = "", ...rest] = wrap([process.execPath, BIN, ...args]);
  const child = spawn(command, rest, { env: { ...process.env, POSTRIDER_HOME: home } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => {
    out += data;
  });
  child.stderr.on("data", (data) => {
    err += data;
  });
  child.stdin.on("error", () => {}); // it may exit before it has read everything
  return {
    process: child,
    ended: new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, out, err }))),
  };
}

/** Runs the CLI until it exits, without input. */
export function cli(home: string, ...args: readonly string[]): Promise<CliEnded> {
  const { process: child, ended } = startCli(home, args);
  child.stdin.end();
  return ended;
}

/** Runs the CLI with a limit on the size of files, which acts like a full disk. */
export function cliOnFullDisk(
  home: string,
  kilobytes: number,
  ...args: readonly string[]
): Promise<CliEnded> {
  const { process: child, ended } = startCli(home, args, (command) => [
    "bash",
    "-c",
    `ulimit -f ${kilobytes}; exec "$0" "$@"`,
    ...command,
  ]);
  child.stdin.end();
  return ended;
}
