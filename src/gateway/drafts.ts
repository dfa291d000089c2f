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
  /** The message that the answer replies to; known when the turn has started. */
  replyTo(): string | undefined;
  /** Whether nothing is queued for the chat: a draft must not appear above an earlier message. */
  isIdle(): boolean;
}

/** Shows an answer in progress as one message that is edited. The first send is a delivery attempt like any other. */
export interface Draft {
  /** The answer so far. `save` stores it before it is shown: a crash loses nothing that a person has seen. */
  update(text: string, save: SaveDraft): void;
  /** Shows nothing more. Returns the delivery that gets the whole text, if a draft was shown or may have been. */
  end(): Promise<number | undefined>;
}

/** `later`: not shown, or unknown; a retry may help. */
type ShowResult = "shown" | "later" | "never";

/** A faster answer is shown only when it is complete. */
const FIRST_AFTER_MS = 1000;
const UNFINISHED = " …";
/** Created once, because creating an error is slow. */
const ENDED = new Error("The answer is complete.");

export function draft(options: DraftOptions): Draft {
  const { store, platform, clock, log, turn, limit } = options;
  const ending = new AbortController();
  let text = "";
  let save: SaveDraft = () => Promise.resolve();
  let seen = "";
  // The rest of a long answer follows in further messages at the end.
  const visible = (): string => text.slice(0, limit);
  let delivery = turn.draftDelivery?.delivery;
  let messageId =
    typeof turn.draftDelivery?.shown === "object" ? turn.draftDelivery.shown.messageId : undefined;
  /** The platform has asked for no request before this, by the monotonic clock. */
  let notBefore = 0;
  let wake = (): void => {};
  let showing: Promise<void> | undefined;

  async function show(): Promise<void> {
    await pause(FIRST_AFTER_MS, ending.signal);
    while (!ending.signal.aborted) {
      const now = visible();
      if (now !== seen) {
        const result = await showOnce(now);
        if (result === "never") return;
        if (result === "shown") seen = now;
      }
      const every = platform.getDraftIntervalMs?.(turn.target) ?? FIRST_AFTER_MS;
      await pause(Math.max(every, notBefore - clock.monotonic()), ending.signal);
      if (visible() === seen && !ending.signal.aborted) await waitForMore();
    }
  }

  function waitForMore(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
      ending.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  async function showOnce(shownText: string): Promise<ShowResult> {
    const never = new AbortController().signal; // a request in progress is not cut off: its outcome must be known
    if (messageId !== undefined) {
      await save();
      const edited = await platform.edit?.(buildOutbound(shownText), messageId, never);
      if (edited === undefined || edited.state === "gone") return "never";
      // An edit with an unknown outcome can be repeated.
      return edited.state === "unknown" ? "later" : toShowResult(edited);
    }
    // An earlier attempt may have shown a draft: a second one would not help.
    if (delivery !== undefined) return "never";
    if (!options.isIdle()) return "later";
    await save();
    const { number, fence, target } = turn;
    const replyTo = options.replyTo();
    const started = await store.outbox.beginDraft({
      turn: number,
      fence,
      target,
      ...(replyTo !== undefined && { replyTo }),
      now: clock.now(),
    });
    if (isRefused(started)) return "never";
    delivery = started.number;
    // With the nonce of the delivery, a later attempt finds this message.
    const sent = await platform.send({ ...buildOutbound(shownText), nonce: started.nonce }, never);
    if (sent.state === "sent") messageId = sent.messageId;
    const shown =
      sent.state === "sent"
        ? { messageId: sent.messageId }
        : sent.state === "unknown"
          ? "unknown"
          : "nothing";
    await store.outbox.recordDraftOutcome({ delivery, shown });
    if (shown === "nothing") delivery = undefined;
    return toShowResult(sent);
  }

  function toShowResult(sent: SendOutcome): ShowResult {
    if (sent.state === "not_sent") notBefore = clock.monotonic() + (sent.retryAfterMs ?? 0);
    if (sent.state === "sent") return "shown";
    return sent.state === "not_sent" ? "later" : "never";
  }

  function buildOutbound(shownText: string): Outbound {
    const replyTo = options.replyTo();
    return {
      target: turn.target,
      parts: [textPart(formatDraft(shownText, limit))],
      nonce: "",
      blob: (hash) => store.messages.readBlob({ asker: { everyone: true }, hash }),
      ...(replyTo !== undefined && { replyTo }),
    };
  }

  return {
    update(longer, saveLonger) {
      // Trimmed only before the first text: trimming the whole answer with every piece would be quadratic.
      if (ending.signal.aborted || (showing === undefined && longer.trim() === "")) return;
      text = longer;
      save = saveLonger;
      showing ??= show().catch((error: unknown) =>
        log.warn(
          { error, turn: turn.number },
          "showing a draft failed; the answer follows when it is complete",
        ),
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

/** As much as fits, with an open code block closed, and a sign that more follows. */
function formatDraft(text: string, limit: number): string {
  const fence = findOpenFence(text);
  const closing = fence === undefined ? UNFINISHED : `\n${fence.mark}`;
  return `${text.slice(0, limit - closing.length)}${closing}`.toWellFormed();
}
