import { type ChildProcess, spawn } from "node:child_process";
import { describeExit } from "../../core/process-report.ts";
import type { Hook } from "../../gateway/hooks.ts";
import { buildChildEnvironment } from "../../processes/child-environment.ts";
import { signalGroup } from "../../processes/signals.ts";

export interface CommandHookOptions {
  readonly name: string;
  readonly events: readonly string[];
  /** The command and its arguments, started without a shell. */
  readonly command: readonly string[];
  /** The working directory. */
  readonly folder: string;
  readonly timeoutMs: number;
  readonly environment: NodeJS.ProcessEnv;
}

export interface CommandHook extends Hook {
  /** Ends running commands. Resolves when none runs. */
  close(patienceMs: number): Promise<void>;
}

/** The time limit for the end of a command after SIGTERM. */
const KILL_DELAY_MS = 2000;
/** The time limit for reading stderr after the end, because a child process may keep the pipe open. */
const LATE_OUTPUT_MS = 200;
const MAX_STDERR_LENGTH = 2000;

/** A hook that starts a command for each event and writes the event as JSON to its stdin. */
export function commandHook(options: CommandHookOptions): CommandHook {
  const { name, events, folder, timeoutMs } = options;
  const [program = "", ...args] = options.command;
  const passed = buildChildEnvironment(options.environment, ["POSTRIDER_HOME"]);
  const running = new Map<ChildProcess, Promise<void>>();

  return {
    name,
    events,
    async handle(event, context) {
      const child = spawn(program, args, {
        cwd: folder,
        env: { ...passed, POSTRIDER_EVENT: event, POSTRIDER_HOOK: name },
        stdio: ["pipe", "ignore", "pipe"],
        detached: true, // its own process group, so that its children end with it
      });
      const done = waitForExit(child, timeoutMs);
      const gone = done.catch(() => {}).finally(() => running.delete(child));
      running.set(child, gone);
      child.stdin.on("error", () => {}); // the command need not read its stdin
      child.stdin.end(`${JSON.stringify({ event, ...context })}\n`);
      await done;
    },
    async close(patienceMs) {
      const all = [...running];
      const timer = setTimeout(() => {
        for (const [child] of all) signalGroup(child, "SIGKILL");
      }, patienceMs);
      await Promise.all(all.map(([, gone]) => gone));
      clearTimeout(timer);
    },
  };
}

/** Rejects when the command does not start, fails, or exceeds its time limit. */
function waitForExit(child: ChildProcess, timeoutMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let errorText = "";
  let isLate = false;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errorText = `${errorText}${text}`.slice(-MAX_STDERR_LENGTH);
  });
  let last: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    isLate = true;
    signalGroup(child, "SIGTERM");
    last = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_DELAY_MS);
  }, timeoutMs);
  const settle = (code: number | null, signal: string | null): void => {
    const words = errorText.trim() === "" ? "." : `: ${errorText.trim()}`;
    if (isLate)
      reject(new Error(`the command exceeded its time limit of ${timeoutMs} ms and was killed${words}`));
    else if (code === 0) resolve();
    else
      reject(
        new Error(`the command ${describeExit(code === null ? { signal: `${signal}` } : { code })}${words}`),
      );
  };
  child.once("error", (error) => {
    clearTimeout(timer);
    reject(error);
  });
  child.once("exit", (code, signal) => {
    clearTimeout(timer);
    clearTimeout(last);
    if (isLate) signalGroup(child, "SIGKILL"); // its children may ignore SIGTERM
    const late = setTimeout(() => {
      child.stderr?.destroy();
      settle(code, signal);
    }, LATE_OUTPUT_MS);
    child.once("close", () => {
      clearTimeout(late);
      settle(code, signal);
    });
  });
  return promise;
}
