import { type ChildProcess, spawn } from "node:child_process";
import { describeExit } from "../../core/process-report.ts";
import type { Hook } from "../../gateway/hooks.ts";
import { buildChildEnvironment } from "../../processes/child-environment.ts";
import { signalGroup } from "../../processes/signals.ts";

export interface CommandHookOptions {
  readonly name: string;
  readonly events: readonly string[];
  /** The program and its arguments, started without a shell. */
  readonly command: readonly string[];
  /** Where it is started. */
  readonly folder: string;
  readonly timeoutMs: number;
  readonly environment: NodeJS.ProcessEnv;
}

export interface CommandHook extends Hook {
  /** Ends what still runs. Resolves when nothing does. */
  close(patienceMs: number): Promise<void>;
}

/** How long a program may take to end when it is told to. */
const KILL_DELAY_MS = 2000;
/** What it said on stderr is read so long after its end: a child of its own may keep the pipe open. */
const LATE_OUTPUT_MS = 200;
const MAX_STDERR_LENGTH = 2000;

/** A program that is told each event as JSON on its standard input. Fails if the program does. */
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
        detached: true, // a group of its own, so that what it starts ends with it
      });
      const done = waitForExit(child, timeoutMs);
      const gone = done.catch(() => {}).finally(() => running.delete(child));
      running.set(child, gone);
      child.stdin.on("error", () => {}); // it need not read
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

/** Rejects when it could not be started, failed, or took too long and was ended. */
function waitForExit(child: ChildProcess, timeoutMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let said = "";
  let isLate = false;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = `${said}${text}`.slice(-MAX_STDERR_LENGTH);
  });
  let last: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    isLate = true;
    signalGroup(child, "SIGTERM");
    last = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_DELAY_MS);
  }, timeoutMs);
  const settle = (code: number | null, signal: string | null): void => {
    const words = said.trim() === "" ? "." : `: ${said.trim()}`;
    if (isLate) reject(new Error(`it took longer than ${timeoutMs} ms and was ended${words}`));
    else if (code === 0) resolve();
    else reject(new Error(`it ${describeExit(code === null ? { signal: `${signal}` } : { code })}${words}`));
  };
  child.once("error", (error) => {
    clearTimeout(timer);
    reject(error);
  });
  child.once("exit", (code, signal) => {
    clearTimeout(timer);
    clearTimeout(last);
    if (isLate) signalGroup(child, "SIGKILL"); // what it has started may not listen
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
