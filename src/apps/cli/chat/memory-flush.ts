import type { MemorySettings } from "../../../core/gateway-settings.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Turn } from "../../../core/turn.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import type { Store } from "../../../ports/store.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { AgentChat } from "../../../turns/agent-chat.ts";
import type { Flusher } from "../../../turns/flush.ts";
import { flushBeforeSwitch } from "../../../turns/flush-before-switch.ts";

export interface MemoryFlushOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly runner: string;
  readonly agent: Agent;
  /** The current configuration. */
  memory(): MemorySettings;
  /** Whether this process lives long enough to run flushes. If not, the next process runs them. */
  readonly isLongLived: boolean;
}

/** Flushes sessions to the memory when a terminal switches to another session. */
export interface MemoryFlush {
  /** A turn starts: its session may have replaced another, and pending flushes of a crashed process may run. */
  startTurn(turn: Pick<Turn, "fresh">): void;
  /** Wraps the sessions: a switch to another session requests a flush of the first. */
  wrapSessions(sessions: Sessions, talk: Pick<AgentChat, "findCurrent">): Sessions;
  close(): Promise<void>;
}

export function memoryFlush(options: MemoryFlushOptions): MemoryFlush {
  const { store, clock, runner, agent } = options;
  let made: Promise<Flusher> | undefined;
  let isClosing = false;
  /** Loaded when there is something to flush, to keep the start fast. */
  function flusher(): Promise<Flusher> {
    made ??= import("../../../turns/flush.ts").then((found) =>
      found.flusher(
        {
          store,
          clock,
          runner,
          log: SILENT_LOG,
          owner: OWNER,
          settings: () => ({ memory: options.memory() }),
        },
        () => agent,
      ),
    );
    return made;
  }
  async function look(): Promise<void> {
    if (options.isLongLived && !isClosing) (await flusher()).trigger();
  }
  async function left(session: string): Promise<void> {
    if (await store.memory.requestFlush({ session, now: clock.now() })) await look();
  }
  return {
    startTurn({ fresh }) {
      if (fresh === undefined && made !== undefined) return;
      const work = fresh === undefined ? look() : left(fresh.previous.session);
      work.catch(doNothing); // the next process tries again
    },
    wrapSessions: (sessions, talk) => flushBeforeSwitch(sessions, talk, left),
    async close() {
      isClosing = true;
      await (await made)?.close();
    },
  };
}

const doNothing = (): void => {};
/** The person did not request the flush, so its failure is not shown. */
const SILENT_LOG: Log = { debug: doNothing, info: doNothing, warn: doNothing, error: doNothing };
