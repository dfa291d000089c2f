import { type ChildProcess, spawn } from "node:child_process";
import { describeExit } from "../core/process-report.ts";
import { buildChildEnvironment } from "../processes/child-environment.ts";
import { signalGroup } from "../processes/signals.ts";

export interface CommandRun {
  /** The executable and its arguments; no shell is involved. */
  readonly command: readonly [string, ...string[]];
  /** The standard input of the process. */
  readonly input: string;
  /** The working directory; by default that of this process. */
  readonly cwd?: string;
  readonly timeoutMs: number;
}

export interface CommandResult {
  /** The output of the process; if it failed, also the reason. */
  readonly text: string;
  readonly failed: boolean;
}

/** Time between SIGTERM and SIGKILL: less than the stopper of the agent waits. */
const GRACE_MS = 250;
/** After the exit of the process, a child of it may hold its output open. */
const LAST_OUTPUT_MS = 100;
const MAX_OUTPUT = 1024 * 1024;

/**
 * Runs a process until it exits. When the signal aborts or the time is up, the process and its group get SIGTERM and
 * shortly after SIGKILL. Never throws: a failure is the result.
 */
export async function runCommand(run: CommandRun, signal: AbortSignal): Promise<CommandResult> {
  const [executable, ...args] = run.command;
  if (signal.aborted)
    return { text: `${executable} was not started, because the turn was stopped.`, failed: true };
  // A group of its own, so that its descendants end with it.
  const child = spawn(executable, args, {
    detached: true,
    env: buildChildEnvironment(process.env),
    stdio: "pipe",
    ...(run.cwd !== undefined && { cwd: run.cwd }),
  });
  const output = collectOutput(child);
  child.stdin.on("error", () => {}); // the process may exit without reading
  child.stdin.end(run.input);
  const until = AbortSignal.any([signal, AbortSignal.timeout(run.timeoutMs)]);
  const ended = waitForExit(child);
  const ending = ended.then(() => undefined);
  const end = await Promise.race([ended, waitForAbort(until, ending)]);
  if (end === undefined) {
    await endGroup(child, ending);
    const reason = signal.aborted ? "was stopped" : `did not end within ${run.timeoutMs / 1000} s`;
    return { text: `${output.text()}${executable} ${reason}.`, failed: true };
  }
  await output.waitForClose();
  if ("error" in end) return { text: `${executable} could not be started (${end.error}).`, failed: true };
  if (end.code === 0) return { text: output.text(), failed: false };
  const how = describeExit(end.code === null ? { signal: `${end.by}` } : { code: end.code });
  return { text: `${output.text()}${output.errors()}${executable} ${how}.`, failed: true };
}

type ChildExit = { readonly error: string } | { readonly code: number | null; readonly by: string | null };

function waitForExit(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.on("error", (error: NodeJS.ErrnoException) => resolve({ error: error.code ?? error.message }));
    child.on("exit", (code, by) => resolve({ code, by }));
  });
}

/** Resolves with `undefined` when the signal aborts, unless `instead` settles first. */
function waitForAbort(signal: AbortSignal, instead: Promise<unknown>): Promise<undefined> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(undefined);
    signal.addEventListener("abort", stop, { once: true });
    void instead.then(() => signal.removeEventListener("abort", stop));
  });
}

async function endGroup(child: ChildProcess, ended: Promise<void>): Promise<void> {
  signalGroup(child, "SIGTERM");
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, GRACE_MS);
  });
  await Promise.race([ended, grace]);
  clearTimeout(timer);
  // Also after its exit: its descendants may still run.
  signalGroup(child, "SIGKILL");
  child.stdout?.destroy();
  child.stderr?.destroy();
}

interface ChildOutput {
  text(): string;
  errors(): string;
  /** Resolves when the output is complete, or after a short wait. */
  waitForClose(): Promise<void>;
}

function collectOutput(child: ChildProcess): ChildOutput {
  const [out, errors]: [Buffer[], Buffer[]] = [[], []];
  captureStream(child, "stdout", out);
  captureStream(child, "stderr", errors);
  const closed = new Promise<void>((resolve) => child.on("close", () => resolve()));
  return {
    text: () => joinChunks(out),
    errors: () => joinChunks(errors),
    async waitForClose() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LAST_OUTPUT_MS);
      });
      await Promise.race([closed, late]);
      clearTimeout(timer);
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

function captureStream(child: ChildProcess, from: "stdout" | "stderr", into: Buffer[]): void {
  let size = 0;
  child[from]?.on("data", (chunk: Buffer) => {
    if (size < MAX_OUTPUT) into.push(chunk.subarray(0, MAX_OUTPUT - size));
    size += chunk.length;
  });
}

function joinChunks(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString("utf8");
}
