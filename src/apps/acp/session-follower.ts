import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { Message } from "../../core/message.ts";
import { awaitChange } from "../../sessions/await-change.ts";
import { followSession } from "../../sessions/follow.ts";
import { draftUpdates } from "./draft-updates.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";

/** Shows messages that other clients add to a session: a messenger, a terminal, another window. */
export interface SessionFollower {
  /** Shows messages after this seq, except those in `shown`. */
  start(after: number, shown?: ReadonlySet<number>): void;
  /** Skips the prompt with this id: the editor shows its own prompts. */
  expectOwnPrompt(messageId: string): void;
  /**
   * A turn runs in this process for the prompt at this seq. Later messages of others wait for its end; earlier ones are
   * shown first.
   */
  startTurn(seq: number): void;
  /** Resolves when all messages before the turn are shown. */
  waitUntilCaughtUp(): Promise<void>;
  /** Skips these messages: the turn has shown them. */
  markOwnMessages(seqs: readonly number[]): void;
  endTurn(): void;
  stop(): void;
}

/** The store notifies about every change; the poll is only a fallback. */
const POLL_MS = 60_000;

interface RunningTurn {
  readonly seq: number;
  readonly ended: PromiseWithResolvers<void>;
  readonly caughtUp: PromiseWithResolvers<void>;
}

export function sessionFollower(
  { store, log, signal }: Pick<EditorContext, "store" | "log" | "signal">,
  session: string,
  toUpdates: (message: Message) => Promise<readonly SessionUpdate[]>,
  show: (update: SessionUpdate) => void,
): SessionFollower {
  const ownSeqs = new Set<number>();
  const ownPromptIds = new Set<string | undefined>();
  const drafts = draftUpdates(session);
  const stopped = new AbortController();
  const until = AbortSignal.any([signal, stopped.signal]);
  let turn: RunningTurn | undefined;
  /** All messages up to this seq are shown. Infinity after the end. */
  let shownSeq = 0;

  function markShown(seq: number): void {
    shownSeq = Math.max(shownSeq, seq);
    if (turn !== undefined && shownSeq >= turn.seq) turn.caughtUp.resolve();
  }

  async function followMessages(after: number, shown: ReadonlySet<number>): Promise<void> {
    markShown(after);
    for await (const message of followSession(store, OWNER_ASKER, session, { after, signal: until })) {
      await showMessage(message, shown);
      markShown(message.seq);
      await showDraft();
    }
  }

  async function followDraft(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const change = awaitChange(store, signal, POLL_MS);
      try {
        await showDraft();
        await change.happened;
      } finally {
        change.forget();
      }
    }
  }

  async function showMessage(message: Message, shown: ReadonlySet<number>): Promise<void> {
    const { seq, origin } = message;
    if (ownPromptIds.delete(origin?.platformMessageId)) return;
    if (turn !== undefined && seq > turn.seq) await turn.ended.promise;
    if (ownSeqs.delete(seq) || shown.has(seq)) return;
    for (const update of drafts.getRemainingUpdates(message, await toUpdates(message))) show(update);
  }

  /** Shows the new text of the message that another process is writing. */
  async function showDraft(): Promise<void> {
    if (turn !== undefined || until.aborted) return;
    const draft = await store.turns.getDraft({ asker: OWNER_ASKER, session });
    // If earlier messages are not shown yet, the next change shows it.
    if (draft === undefined || turn !== undefined || shownSeq !== draft.seq - 1) return;
    for (const update of drafts.getNewUpdates(draft)) show(update);
  }

  return {
    start(after, shown = new Set()) {
      const finished = new AbortController();
      const failed = (error: unknown): void => {
        if (!until.aborted) log.error({ error, session }, "messages of other clients cannot be shown");
      };
      followDraft(AbortSignal.any([until, finished.signal])).catch(failed);
      followMessages(after, shown)
        .catch(failed)
        .finally(() => {
          finished.abort();
          markShown(Number.POSITIVE_INFINITY);
        });
    },
    expectOwnPrompt: (messageId) => ownPromptIds.add(messageId),
    startTurn(seq) {
      turn?.ended.resolve();
      turn = { seq, ended: Promise.withResolvers(), caughtUp: Promise.withResolvers() };
      markShown(0);
    },
    waitUntilCaughtUp: async () => turn?.caughtUp.promise,
    markOwnMessages(seqs) {
      for (const seq of seqs) ownSeqs.add(seq);
    },
    endTurn() {
      turn?.ended.resolve();
      turn = undefined;
    },
    stop() {
      stopped.abort();
      turn?.ended.resolve();
      markShown(Number.POSITIVE_INFINITY);
    },
  };
}
