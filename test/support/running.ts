import type { Opened } from "../../src/core/conversation.ts";
import { type Exit, type Process, processIdFrom, type Watch } from "../../src/core/process.ts";
import { throwIfRefused } from "../../src/core/refusal.ts";
import { buildRouting, DEFAULT_RESET, localRunner, type Source } from "../../src/index.ts";
import type { Home } from "./test-home.ts";

/** The rows of a running process, as a keeper would write them. */
export interface Running {
  readonly id: string;
  readonly opened: Opened;
  /** Appends output; `matched` are the lines that match a pattern. */
  print(text: string, ...matched: readonly string[]): Promise<void>;
  end(exit?: Exit): Promise<void>;
  /** The stored process. */
  now(): Promise<Process>;
}

export interface RunOptions extends Partial<Watch> {
  readonly command?: string;
  readonly background?: boolean;
}

/** Starts a process in the conversation of this source. */
export async function runIn(home: Home, source: Source, options: RunOptions = {}): Promise<Running> {
  const { store, clock } = home;
  const { command = "npm test", background = true, ...watch } = options;
  const settings = { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock };
  const opened = await store.conversations.open(buildRouting(source, settings));
  const id = processIdFrom(clock.random(6));
  const keeper = localRunner();
  await store.runners.recordHeartbeat({ runner: keeper, now: clock.now() });
  throwIfRefused(
    await store.processes.beginProcess({
      process: {
        id,
        command,
        cwd: "/",
        background,
        pty: false,
        watch: { mode: "all", patterns: [], wakes: false, ...watch },
      },
      session: opened.session.id,
      conversation: opened.conversation.number,
      target: source,
      maxRunning: 64,
      now: clock.now(),
    }),
  );
  const runs = { id, keeper: keeper.id, pid: 7, startTime: "7", pty: false, now: clock.now() };
  throwIfRefused(await store.processes.markProcessRunning(runs));
  const now = async (): Promise<Process> => {
    const found = await store.processes.getProcess({ asker: { everyone: true }, id });
    if (found === undefined) throw new Error("the process does not exist");
    return found;
  };
  return {
    id,
    opened,
    now,
    async print(text, ...matched) {
      const { total: from } = await now();
      throwIfRefused(
        await store.processes.appendProcessOutput({ id, keeper: keeper.id, from, text, matched }),
      );
    },
    async end(exit = { code: 0 }) {
      throwIfRefused(await store.processes.endProcess({ id, exit, now: clock.now() }));
    },
  };
}
