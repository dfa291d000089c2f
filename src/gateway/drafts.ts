import { textPart } from "../core/message.ts";
import { isRefused } from "../core/refusal.ts";
import { findOpenFence } from "../core/split-text.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Outbound, Platform, SendOutcome } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";
import type { SaveDraft } from "../turns/turn-hooks.ts";

export interface DraftOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly clock: Clock;
  readonly log: Log;
  readonly turn: Turn;
  /** The longest text that a message can carry. */
  readonly limit: number;
  /** What it answers; known when the turn has begun. */
  replyTo(): string | undefined;
  /** Whether nothing is on its way to the chat: a draft is not shown above what was said before it. */
  isIdle(): boolean;
}

/** Shows an answer while it is written: one message, edited. Its first showing is a delivery attempt like any other. */
export interface Draft {
  /** The answer so far. `keep` stores it before it is shown: what a person has seen stays after a crash. */
  update(said: string, keep: SaveDraft): void;
  /** Shows nothing more. Gives the delivery that is to get the last text, if anything was shown or may have been. */
  end(): Promise<number | undefined>;
}

/** `later`: it is not shown, or nobody knows; trying again may help. */
type ShowResult = "shown" | "later" | "never";

/** Answers that take no longer are not shown before they are whole. */
const FIRST_AFTER_MS = 1000;
const UNFINISHED = " …";
/** Made once, because making one is slow. */
const ENDED = new Error("The answer is whole.");

export function draft(options: DraftOptions): Draft {
  const { store, platform, clock, log, turn, limit } = options;
  const ending = new AbortController();
  let said = "";
  let keep: SaveDraft = () => Promise.resolve();
  let seen = "";
  // A long answer goes on in further messages, which are sent at the end.
  const wanted = (): string => said.slice(0, limit);
  let delivery = turn.draftDelivery?.delivery;
  let messageId =
    typeof turn.draftDelivery?.shown === "object" ? turn.draftDelivery.shown.messageId : undefined;
  /** The platform has asked to wait until then, by the monotonic clock. */
  let notBefore = 0;
  let wake = (): void => {};
  let showing: Promise<void> | undefined;

  async function show(): Promise<void> {
    await pause(FIRST_AFTER_MS, ending.signal);
    while (!ending.signal.aborted) {
      const now = wanted();
      if (now !== seen) {
        const became = await showOnce(now);
        if (became === "never") return;
        if (became === "shown") seen = now;
      }
      const every = platform.getDraftIntervalMs?.(turn.target) ?? FIRST_AFTER_MS;
      await pause(Math.max(every, notBefore - clock.monotonic()), ending.signal);
      if (wanted() === seen && !ending.signal.aborted) await grown();
    }
  }

  function grown(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
      ending.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  async function showOnce(said: string): Promise<ShowResult> {
    const never = new AbortController().signal; // what is under way is waited for: it must be known what is in the chat
    if (messageId !== undefined) {
      await keep();
      const edited = await platform.edit?.(out(said), messageId, never);
      if (edited === undefined || edited.state === "gone") return "never";
      // Whether an edit has arrived need not be known: it can be repeated.
      return edited.state === "unknown" ? "later" : becameOf(edited);
    }
    // Whether an earlier attempt's draft is there is unknown: a second one would not help.
    if (delivery !== undefined) return "never";
    if (!options.isIdle()) return "later";
    await keep();
    const { number, fence, target } = turn;
    const replyTo = options.replyTo();
    const begun = await store.outbox.beginDraft({
      turn: number,
      fence,
      target,
      ...(replyTo !== undefined && { replyTo }),
      now: clock.now(),
    });
    if (isRefused(begun)) return "never";
    delivery = begun.number;
    // The delivery's own nonce: whoever sends it again finds this message.
    const sent = await platform.send({ ...out(said), nonce: begun.nonce }, never);
    if (sent.state === "sent") messageId = sent.messageId;
    const shown =
      sent.state === "sent"
        ? { messageId: sent.messageId }
        : sent.state === "unknown"
          ? "unknown"
          : "nothing";
    await store.outbox.recordDraftOutcome({ delivery, shown });
    if (shown === "nothing") delivery = undefined;
    return becameOf(sent);
  }

  function becameOf(sent: SendOutcome): ShowResult {
    if (sent.state === "not_sent") notBefore = clock.monotonic() + (sent.retryAfterMs ?? 0);
    if (sent.state === "sent") return "shown";
    return sent.state === "not_sent" ? "later" : "never";
  }

  function out(said: string): Outbound {
    const replyTo = options.replyTo();
    return {
      target: turn.target,
      parts: [textPart(formatDraft(said, limit))],
      nonce: "",
      blob: (hash) => store.messages.readBlob({ asker: { everyone: true }, hash }),
      ...(replyTo !== undefined && { replyTo }),
    };
  }

  return {
    update(longer, keepLonger) {
      // Looked into only as long as nothing is to be shown: reading the whole answer with every piece would take longer
      // and longer.
      if (ending.signal.aborted || (showing === undefined && longer.trim() === "")) return;
      said = longer;
      keep = keepLonger;
      showing ??= show().catch((error: unknown) =>
        log.warn({ error, turn: turn.number }, "a draft was not shown"),
      );
      wake();
    },
    async end() {
      ending.abort(ENDED);
      await showing;
      return delivery;
    },
  };
}

/** As much as fits, with an open block of code closed, and a sign that more comes. */
function formatDraft(said: string, limit: number): string {
  const fence = findOpenFence(said);
  const closing = fence === undefined ? UNFINISHED : `\n${fence.mark}`;
  return `${said.slice(0, limit - closing.length)}${closing}`.toWellFormed();
}
