import { type ChildProcess, spawn } from "node:child_process";
import { describeExit } from "../core/process-report.ts";
import { buildChildEnvironment } from "../processes/child-environment.ts";
import { signalGroup } from "../processes/signal-group.ts";

export interface CommandRun {
  /** The program and its arguments; no shell takes part. */
  readonly command: readonly [string, ...string[]];
  /** What the program reads. */
  readonly input: string;
  /** Where it runs; where we do, unless said. */
  readonly cwd?: string;
  readonly timeoutMs: number;
}

export interface CommandResult {
  /** What it wrote to its output; if it failed, also why. */
  readonly text: string;
  readonly failed: boolean;
}

/** Between asking to end and ending: less than whoever stopped the agent waits for it. */
const GRACE_MS = 250;
/** A program that is gone may have left another behind that holds its output open. */
const LAST_OUTPUT_MS = 100;
const MOST_OUTPUT = 1024 * 1024;

/**
 * Runs a program to its end. When the signal aborts or the time is up, it and all it has started are asked to end and
 * shortly after made to. Never throws: what goes wrong is the result.
 */
export async function runCommand(run: CommandRun, signal: AbortSignal): Promise<CommandResult> {
  const [program, ...args] = run.command;
  if (signal.aborted) return { text: `${program} was not started: stopped before.`, failed: true };
  // A group of its own, so that what it starts ends with it.
  const child = spawn(program, args, {
    detached: true,
    env: buildChildEnvironment(process.env),
    stdio: "pipe",
    ...(run.cwd !== undefined && { cwd: run.cwd }),
  });
  const output = collectOutput(child);
  child.stdin.on("error", () => {}); // it need not read what it is given
  child.stdin.end(run.input);
  const until = AbortSignal.any([signal, AbortSignal.timeout(run.timeoutMs)]);
  const ended = waitForExit(child);
  const ending = ended.then(() => undefined);
  const end = await Promise.race([ended, waitForAbort(until, ending)]);
  if (end === undefined) {
    await endGroup(child, ending);
    const why = signal.aborted ? "was stopped" : `did not end within ${run.timeoutMs / 1000} s`;
    return { text: `${output.text()}${program} ${why}.`, failed: true };
  }
  await output.waitForClose();
  if ("error" in end) return { text: `${program} could not be started (${end.error}).`, failed: true };
  if (end.code === 0) return { text: output.text(), failed: false };
  const how = describeExit(end.code === null ? { signal: `${end.by}` } : { code: end.code });
  return { text: `${output.text()}${output.errors()}${program} ${how}.`, failed: true };
}

type ChildExit = { readonly error: string } | { readonly code: number | null; readonly by: string | null };

function waitForExit(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.on("error", (error: NodeJS.ErrnoException) => resolve({ error: error.code ?? error.message }));
    child.on("exit", (code, by) => resolve({ code, by }));
  });
}

/** `undefined` when the signal aborts before the other has happened. */
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
  // Also when it has ended: what it started may still be there.
  signalGroup(child, "SIGKILL");
  child.stdout?.destroy();
  child.stderr?.destroy();
}

interface ChildOutput {
  text(): string;
  errors(): string;
  /** Resolves when nothing more will come, or nothing more is waited for. */
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
    if (size < MOST_OUTPUT) into.push(chunk.subarray(0, MOST_OUTPUT - size));
    size += chunk.length;
  });
}

function joinChunks(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString("utf8");
}
