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

/** How long Telegram holds a request until something comes. */
const HELD_SECONDS = 30;
/** How much longer an answer may take than that. */
const ANSWER_MS = 15_000;
/** While something is not stored yet, asking would be answered at once, with the same: so rounds take this long. */
const ROUND_MS = 200;
/** An album that has not grown for so many rounds is whole: 0.8 seconds. */
const QUIET_ROUNDS = 4;
const WANTED = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "callback_query",
] as const;

/**
 * Asks Telegram for what has come, for ever. Chats are served at the same time, each in order. What is stored is confirmed
 * with the next question, and nothing else: if we fall, Telegram brings the rest again. Each message carries the place
 * before which everything is stored once it is, itself included; while other chats still work this lies further back than
 * it could, never too far ahead.
 */
export async function pollTelegram(options: PollOptions, signal: AbortSignal): Promise<void> {
  const { receiver, timing, log } = options;
  const name = `telegram:${options.api.connection.account}`;
  const ledger = createUpdateTracker();
  const albums = openAlbums(QUIET_ROUNDS);
  /** By chat, the last arrival that is being handed over: the next follows it. */
  const chats = new Map<number, Promise<void>>();
  /** Everything that is not stored yet. */
  const working = new Set<Promise<void>>();
  const failing = new AbortController();
  const stopping = AbortSignal.any([signal, failing.signal]);
  let offset = parseOffset(await receiver.getCursor(name));
  let isConnected = false;

  function hand(arrival: UpdateBatch): void {
    const ids = arrival.updates.map((update) => update.update_id);
    ledger.join(ids);
    const cursor = (): PlatformCursor => ({ name, value: String(ledger.getNextOffset(ids)) });
    const prepared = options.prepare(arrival, stopping);
    prepared.catch(() => {}); // met below, in its turn
    const before = chats.get(arrival.chat) ?? Promise.resolve();
    const next = before
      .then(async () => {
        const handOver = await prepared;
        // After one that could not be stored, nothing of its chat may be: when stopping, this only frees what it holds.
        own(storeWhenDone(handOver(cursor()), ids));
      })
      .catch((error: unknown) => failing.abort({ error }))
      .finally(() => {
        if (chats.get(arrival.chat) === next) chats.delete(arrival.chat);
      });
    chats.set(arrival.chat, next);
    own(next);
  }

  async function storeWhenDone(stored: Promise<boolean>, ids: readonly number[]): Promise<void> {
    if (await stored) ledger.markStored(ids);
  }

  function own(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => failing.abort({ error }))
      .finally(() => {
        working.delete(done);
      });
    working.add(done);
  }

  /** Until all is stored, or a round is over; with an open album always a round. */
  async function endOfRound(): Promise<void> {
    if (albums.isOpen()) return timing.wait(ROUND_MS, stopping);
    if (working.size === 0) return;
    const early = new AbortController();
    await Promise.race([allDone(), timing.wait(ROUND_MS, AbortSignal.any([stopping, early.signal]))]);
    early.abort();
  }

  /** What is handed over adds to what works: until nothing is left. */
  async function allDone(): Promise<void> {
    while (working.size > 0) await Promise.all(working);
  }

  async function ask(): Promise<readonly Update[] | undefined> {
    const answer = await fetchUpdates(options.api, offset, isConnected && !ledger.hasUnstored(), stopping);
    if (answer.ok) {
      options.backOff.reset();
      return answer.value;
    }
    const { failure } = answer;
    if (failure.kind === "answered" && failure.code === 400 && offset !== undefined) {
      // After a silent week Telegram may number anew, and not know ours any more. What is known here is told apart anyway.
      log?.warn({ offset }, "Telegram does not know where we were; asking from the beginning");
      offset = undefined;
      return undefined;
    }
    if (failure.kind === "answered" && failure.code === 409 && /webhook/i.test(failure.description)) {
      log?.warn({}, "the bot had a webhook, with which nothing can be received here; removing it");
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
      const updates = await ask();
      if (updates === undefined || stopping.aborted) continue;
      if (!isConnected) receiver.markConnected();
      isConnected = true;
      for (const update of updates) {
        if (ledger.add(update.update_id)) for (const arrival of albums.add(update)) hand(arrival);
      }
      for (const arrival of albums.endRound()) hand(arrival);
      await endOfRound();
      offset = ledger.getNextOffset() ?? offset;
      if (offset !== undefined) ledger.forgetBefore(offset);
    }
  } finally {
    // Nothing of ours runs any more when this has ended.
    if (!failing.signal.aborted && !signal.aborted) failing.abort();
    await allDone();
  }
  const failed: unknown = failing.signal.reason;
  if (failing.signal.aborted && typeof failed === "object" && failed !== null && "error" in failed)
    throw failed.error;
}

function fetchUpdates(
  api: TelegramApi,
  offset: number | undefined,
  isHeld: boolean,
  signal: AbortSignal,
): Promise<TelegramAnswer<Update[]>> {
  const timeout = isHeld ? HELD_SECONDS : 0;
  return api.call(
    (calls, within) =>
      calls.getUpdates(
        { timeout, limit: 100, allowed_updates: WANTED, ...(offset !== undefined && { offset }) },
        within,
      ),
    { signal, ms: timeout * 1000 + ANSWER_MS },
  );
}

function parseOffset(cursor: string | undefined): number | undefined {
  return cursor !== undefined && /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined;
}
