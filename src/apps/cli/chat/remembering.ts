import type { MemorySettings } from "../../../core/gateway-settings.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Turn } from "../../../core/turn.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import type { Store } from "../../../ports/store.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import { beforeLeaving } from "../../../turns/before-leaving.ts";
import type { Flusher } from "../../../turns/flush.ts";
import type { Talk } from "../../../turns/talk.ts";

export interface RememberingOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly runner: string;
  readonly agent: Agent;
  /** As configured now. */
  memory(): MemorySettings;
  /** Whether this place stays long enough to look through what was said; else whoever runs next does. */
  readonly stays: boolean;
}

/** What is left in a terminal is told to the memory. */
export interface Remembering {
  /** A turn begins: its session may have taken the place of another, and what fell before may be taken up. Nobody waits. */
  begun(turn: Pick<Turn, "fresh">): void;
  /** The same sessions; whoever goes from one to another has left the first. */
  around(sessions: Sessions, talk: Pick<Talk, "look">): Sessions;
  close(): Promise<void>;
}

export function remembering(options: RememberingOptions): Remembering {
  const { store, clock, runner, agent } = options;
  let made: Promise<Flusher> | undefined;
  let isClosing = false;
  /** Loaded when there is something to look through: nobody waits for that at the start. */
  function flusher(): Promise<Flusher> {
    made ??= import("../../../turns/flush.ts").then((found) =>
      found.flusher(
        { store, clock, runner, log: SILENT, owner: OWNER, settings: () => ({ memory: options.memory() }) },
        () => agent,
      ),
    );
    return made;
  }
  async function look(): Promise<void> {
    if (options.stays && !isClosing) (await flusher()).look();
  }
  async function left(session: string): Promise<void> {
    if (await store.askFlush({ session, now: clock.now() })) await look();
  }
  return {
    begun({ fresh }) {
      if (fresh === undefined && made !== undefined) return;
      const work = fresh === undefined ? look() : left(fresh.previous.session);
      work.catch(nothing); // whoever runs next looks again
    },
    around: (sessions, talk) => beforeLeaving(sessions, talk, left),
    async close() {
      isClosing = true;
      await (await made)?.close();
    },
  };
}

const nothing = (): void => {};
/** Nobody in the terminal has asked for it; what goes wrong with it is no concern of theirs. */
const SILENT: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
