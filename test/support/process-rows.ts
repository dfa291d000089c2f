import type { Exit, NewProcess, Process } from "../../src/core/process.ts";
import { localRunner, type Source, type Store, throwIfRefused } from "../../src/index.ts";

export interface RowWanted extends Partial<NewProcess> {
  readonly id: string;
  readonly session: string;
  readonly target?: Source;
  readonly now: number;
  /** Its output. */
  readonly printed?: string;
  /** Absent: the row says that it runs. */
  readonly exit?: Exit;
}

/** Larger than any real pid, so that a kill has no effect. */
const NOBODYS_PID = 2 ** 30;

/** Stores the row of a process that does not exist. The test is its keeper. */
export async function processRow(store: Store, wanted: RowWanted): Promise<Process> {
  const { session, now, printed = "", exit, target, ...given } = wanted;
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now });
  const process: NewProcess = {
    command: "sleep 1000",
    cwd: "/tmp",
    background: true,
    pty: false,
    watch: { mode: "off", patterns: [], wakes: false },
    ...given,
  };
  const chat: Source = { platform: "local", chatType: "dm", chatId: "cli" };
  throwIfRefused(
    await store.processes.beginProcess({
      process,
      session,
      conversation: 1,
      target: target ?? chat,
      maxRunning: 64,
      now,
    }),
  );
  const { id, pty } = process;
  const runs = { id, keeper: runner.id, pid: NOBODYS_PID, startTime: "never", pty, now };
  const running = throwIfRefused(await store.processes.markProcessRunning(runs));
  if (printed !== "")
    throwIfRefused(
      await store.processes.appendProcessOutput({ id, keeper: runner.id, from: 0, text: printed }),
    );
  return exit === undefined ? running : throwIfRefused(await store.processes.endProcess({ id, exit, now }));
}
