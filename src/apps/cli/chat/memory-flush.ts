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
  /** As configured now. */
  memory(): MemorySettings;
  /** Whether this place stays long enough to look through what was said; else whoever runs next does. */
  readonly isLongLived: boolean;
}

/** What is left in a terminal is told to the memory. */
export interface MemoryFlush {
  /** A turn begins: its session may have taken the place of another, and what fell before may be taken up. Nobody waits. */
  startTurn(turn: Pick<Turn, "fresh">): void;
  /** The same sessions; whoever goes from one to another has left the first. */
  wrapSessions(sessions: Sessions, talk: Pick<AgentChat, "findCurrent">): Sessions;
  close(): Promise<void>;
}

export function memoryFlush(options: MemoryFlushOptions): MemoryFlush {
  const { store, clock, runner, agent } = options;
  let made: Promise<Flusher> | undefined;
  let isClosing = false;
  /** Loaded when there is something to look through: nobody waits for that at the start. */
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
      work.catch(doNothing); // whoever runs next looks again
    },
    wrapSessions: (sessions, talk) => flushBeforeSwitch(sessions, talk, left),
    async close() {
      isClosing = true;
      await (await made)?.close();
    },
  };
}

const doNothing = (): void => {};
/** Nobody in the terminal has asked for it; what goes wrong with it is no concern of theirs. */
const SILENT_LOG: Log = { debug: doNothing, info: doNothing, warn: doNothing, error: doNothing };
