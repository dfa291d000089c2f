import type { Update } from "grammy/types";
import type { PlatformCursor } from "../../core/turn.ts";
import type { Log } from "../../ports/log.ts";
import type { Receiver } from "../../ports/platform.ts";
import { openAlbums, type UpdateBatch } from "./albums.ts";
import type { TelegramAnswer, TelegramApi } from "./api.ts";
import type { DispatchPreparer } from "./dispatch-updates.ts";
import type { PollBackOff } from "./poll-back-off.ts";
import type { Timing } from "./timing.ts";
import { createUpdateTracker } from "./update-tracker.ts";

export interface PollOptions {
  readonly api: TelegramApi;
  readonly receiver: Receiver;
  readonly prepare: DispatchPreparer;
  readonly backOff: PollBackOff;
  readonly timing: Timing;
  readonly log: Log | undefined;
}

/** How long Telegram holds a request until there are updates. */
const LONG_POLL_SECONDS = 30;
/** The additional time for the answer. */
const ANSWER_MS = 15_000;
/** While updates are not stored yet, Telegram returns them again at once, so each round takes at least this long. */
const ROUND_MS = 200;
/** An album that did not grow for this many rounds (0.8 seconds) is complete. */
const QUIET_ROUNDS = 4;
const ALLOWED_UPDATES = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "callback_query",
] as const;

/**
 * Polls Telegram until the signal aborts. Chats are processed in parallel, each in order. Only stored updates are confirmed
 * with the next request: after a crash Telegram delivers the others again. Each message carries a cursor before which all
 * updates are stored once it is stored; it may lag behind other chats but is never too far ahead.
 */
export async function pollTelegram(options: PollOptions, signal: AbortSignal): Promise<void> {
  const { receiver, timing, log } = options;
  const name = `telegram:${options.api.connection.account}`;
  const tracker = createUpdateTracker();
  const albums = openAlbums(QUIET_ROUNDS);
  /** By chat, the dispatch of the last batch. The next one waits for it. */
  const chats = new Map<number, Promise<void>>();
  /** Work that is not stored yet. */
  const pending = new Set<Promise<void>>();
  const failing = new AbortController();
  const stopping = AbortSignal.any([signal, failing.signal]);
  let offset = parseOffset(await receiver.getCursor(name));
  let isConnected = false;

  function dispatchBatch(batch: UpdateBatch): void {
    const ids = batch.updates.map((update) => update.update_id);
    tracker.join(ids);
    const cursor = (): PlatformCursor => ({ name, value: String(tracker.getNextOffset(ids)) });
    const prepared = options.prepare(batch, stopping);
    prepared.catch(() => {}); // handled below, after the previous batch
    const previous = chats.get(batch.chat) ?? Promise.resolve();
    const next = previous
      .then(async () => {
        const dispatch = await prepared;
        // After a failure nothing more of the chat may be stored: when stopping, this call only releases resources.
        addPending(markWhenStored(dispatch(cursor()), ids));
      })
      .catch((error: unknown) => failing.abort({ error }))
      .finally(() => {
        if (chats.get(batch.chat) === next) chats.delete(batch.chat);
      });
    chats.set(batch.chat, next);
    addPending(next);
  }

  async function markWhenStored(stored: Promise<boolean>, ids: readonly number[]): Promise<void> {
    if (await stored) tracker.markStored(ids);
  }

  function addPending(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => failing.abort({ error }))
      .finally(() => {
        pending.delete(done);
      });
    pending.add(done);
  }

  /** Waits until everything is stored, at most for a round; always for a round while an album is open. */
  async function waitForRoundEnd(): Promise<void> {
    if (albums.isOpen()) return timing.wait(ROUND_MS, stopping);
    if (pending.size === 0) return;
    const early = new AbortController();
    await Promise.race([drainPending(), timing.wait(ROUND_MS, AbortSignal.any([stopping, early.signal]))]);
    early.abort();
  }

  /** A dispatch adds more pending work, so this repeats until none is left. */
  async function drainPending(): Promise<void> {
    while (pending.size > 0) await Promise.all(pending);
  }

  async function pollOnce(): Promise<readonly Update[] | undefined> {
    const answer = await fetchUpdates(options.api, offset, isConnected && !tracker.hasUnstored(), stopping);
    if (answer.ok) {
      options.backOff.reset();
      return answer.value;
    }
    const { failure } = answer;
    if (failure.kind === "answered" && failure.code === 400 && offset !== undefined) {
      // After a week without updates Telegram may restart its numbers. The tracker still recognises known updates.
      log?.warn({ offset }, "Telegram rejected the update offset; polling from the start");
      offset = undefined;
      return undefined;
    }
    if (failure.kind === "answered" && failure.code === 409 && /webhook/i.test(failure.description)) {
      log?.warn({}, "the bot has a webhook, which prevents polling; removing the webhook");
      await options.api.call((calls, within) => calls.deleteWebhook({}, within), {
        signal: stopping,
        ms: ANSWER_MS,
      });
      return undefined;
    }
    isConnected = false;
    await options.backOff.waitAfterFailure(failure, stopping);
    return undefined;
  }

  try {
    while (!stopping.aborted) {
      const updates = await pollOnce();
      if (updates === undefined || stopping.aborted) continue;
      if (!isConnected) receiver.markConnected();
      isConnected = true;
      for (const update of updates) {
        if (tracker.add(update.update_id)) for (const batch of albums.add(update)) dispatchBatch(batch);
      }
      for (const batch of albums.endRound()) dispatchBatch(batch);
      await waitForRoundEnd();
      offset = tracker.getNextOffset() ?? offset;
      if (offset !== undefined) tracker.forgetBefore(offset);
    }
  } finally {
    // Nothing runs any more when this function returns.
    if (!failing.signal.aborted && !signal.aborted) failing.abort();
    await drainPending();
  }
  const failed: unknown = failing.signal.reason;
  if (failing.signal.aborted && typeof failed === "object" && failed !== null && "error" in failed)
    throw failed.error;
}

function fetchUpdates(
  api: TelegramApi,
  offset: number | undefined,
  isLongPoll: boolean,
  signal: AbortSignal,
): Promise<TelegramAnswer<Update[]>> {
  const timeout = isLongPoll ? LONG_POLL_SECONDS : 0;
  return api.call(
    (calls, within) =>
      calls.getUpdates(
        { timeout, limit: 100, allowed_updates: ALLOWED_UPDATES, ...(offset !== undefined && { offset }) },
        within,
      ),
    { signal, ms: timeout * 1000 + ANSWER_MS },
  );
}

function parseOffset(cursor: string | undefined): number | undefined {
  return cursor !== undefined && /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined;
}
