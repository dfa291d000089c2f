import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { Message } from "../../core/message.ts";
import { awaitChange } from "../../sessions/await-change.ts";
import { followSession } from "../../sessions/follow.ts";
import { draftUpdates } from "./draft-updates.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";

/** Shows what is said in a session elsewhere: in a messenger, a terminal, another window. */
export interface SessionFollower {
  /** From here on: after this seq, but for what is shown already. */
  start(after: number, shown?: ReadonlySet<number>): void;
  /** What is about to be said here, by its id: the editor shows it itself. */
  expectOwnPrompt(messageId: string): void;
  /**
   * A turn runs here, for what was said at this seq. What it says is shown as it grows, so whatever else is said waits for
   * its end; but first comes what was said before.
   */
  startTurn(seq: number): void;
  /** Resolves when that is shown. */
  waitUntilCaughtUp(): Promise<void>;
  /** These are messages of that turn. */
  markOwnMessages(seqs: readonly number[]): void;
  endTurn(): void;
  stop(): void;
}

/** Text grows only with a change of the store, which is told: nothing has to be looked for. */
const POLL_MS = 60_000;

interface RunningTurn {
  readonly seq: number;
  readonly over: PromiseWithResolvers<void>;
  readonly caughtUp: PromiseWithResolvers<void>;
}

export function sessionFollower(
  { store, log, signal }: Pick<EditorContext, "store" | "log" | "signal">,
  session: string,
  draw: (message: Message) => Promise<readonly SessionUpdate[]>,
  show: (update: SessionUpdate) => void,
): SessionFollower {
  const own = new Set<number>();
  const ownIds = new Set<string | undefined>();
  const grown = draftUpdates(session);
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  let turn: RunningTurn | undefined;
  /** Everything up to this seq is shown; everything, when nobody looks any more. */
  let reached = 0;

  function reach(seq: number): void {
    reached = Math.max(reached, seq);
    if (turn !== undefined && reached >= turn.seq) turn.caughtUp.resolve();
  }

  async function watch(after: number, shown: ReadonlySet<number>): Promise<void> {
    reach(after);
    for await (const message of followSession(store, OWNER_ASKER, session, { after, signal: until })) {
      await showOne(message, shown);
      reach(message.seq);
      await showGrowing();
    }
  }

  async function watchGrowing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const change = awaitChange(store, signal, POLL_MS);
      try {
        await showGrowing();
        await change.happened;
      } finally {
        change.forget();
      }
    }
  }

  async function showOne(message: Message, shown: ReadonlySet<number>): Promise<void> {
    const { seq, origin } = message;
    if (ownIds.delete(origin?.platformMessageId)) return;
    if (turn !== undefined && seq > turn.seq) await turn.over.promise;
    if (own.delete(seq) || shown.has(seq)) return;
    for (const update of grown.getRemainingUpdates(message, await draw(message))) show(update);
  }

  /** Shows what another process has written of its next message, as it grows. */
  async function showGrowing(): Promise<void> {
    if (turn !== undefined || until.aborted) return;
    const growing = await store.turns.getDraft({ asker: OWNER_ASKER, session });
    // What stands before it may not be shown yet: then its next change brings it.
    if (growing === undefined || turn !== undefined || reached !== growing.seq - 1) return;
    for (const update of grown.getNewUpdates(growing)) show(update);
  }

  return {
    start(after, shown = new Set()) {
      const watched = new AbortController();
      const failed = (error: unknown): void => {
        if (!until.aborted) log.error({ error, session }, "what others say cannot be shown");
      };
      watchGrowing(AbortSignal.any([until, watched.signal])).catch(failed);
      watch(after, shown)
        .catch(failed)
        .finally(() => {
          watched.abort();
          reach(Number.POSITIVE_INFINITY);
        });
    },
    expectOwnPrompt: (messageId) => ownIds.add(messageId),
    startTurn(seq) {
      turn?.over.resolve();
      turn = { seq, over: Promise.withResolvers(), caughtUp: Promise.withResolvers() };
      reach(0);
    },
    waitUntilCaughtUp: async () => turn?.caughtUp.promise,
    markOwnMessages(seqs) {
      for (const seq of seqs) own.add(seq);
    },
    endTurn() {
      turn?.over.resolve();
      turn = undefined;
    },
    stop() {
      over.abort();
      turn?.over.resolve();
      reach(Number.POSITIVE_INFINITY);
    },
  };
}
