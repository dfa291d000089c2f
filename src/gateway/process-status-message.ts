import { textPart } from "../core/message.ts";
import type { Process } from "../core/process.ts";
import type { Clock } from "../ports/clock.ts";
import type { Outbound } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import type { PlatformConnection } from "./flow.ts";

/** `later`: the message is unknown yet, or the platform cannot be reached. `nowhere`: there is no message to edit. */
export type StatusUpdateResult = "shown" | "later" | "nowhere";

/** The progress message of a process, which is edited while the process runs. */
export interface ProcessStatusMessage {
  /** Replaces the text of the message. Doing it twice shows nothing new. */
  update(connected: PlatformConnection, process: Process, text: string): Promise<StatusUpdateResult>;
}

/** The wait after a failed edit, where the platform does not name one. */
const RETRY_MS = 5000;

export function processStatusMessage({
  store,
  clock,
  signal,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): ProcessStatusMessage {
  /** By process: no edit before this, by the monotonic clock. */
  const notBefore = new Map<string, number>();

  async function findMessageId({ reported }: Process): Promise<string | "later" | undefined> {
    const delivery =
      reported.progress === undefined
        ? undefined
        : await store.outbox.getDelivery({ number: reported.progress });
    if (delivery === undefined) return undefined;
    const { status } = delivery;
    if (status.state === "sent") return status.platformMessageId;
    return status.state === "dead" ? undefined : "later";
  }

  return {
    async update({ platform }, process, text) {
      const { id, target } = process;
      if (clock.monotonic() < (notBefore.get(id) ?? 0)) return "later";
      notBefore.delete(id);
      if (platform.edit === undefined) return "nowhere";
      const messageId = await findMessageId(process);
      if (messageId === undefined) return "nowhere";
      if (messageId === "later") return "later";
      const out: Outbound = {
        target,
        parts: [textPart(text.toWellFormed())],
        nonce: "",
        quiet: true,
        blob: (hash) => store.messages.readBlob({ asker: { everyone: true }, hash }),
      };
      const edited = await platform.edit(out, messageId, signal);
      if (edited.state === "gone") return "nowhere";
      // A refused edit will not succeed later: the message stays as it is.
      if (edited.state === "sent" || edited.state === "refused") return "shown";
      const wait = edited.state === "not_sent" ? edited.retryAfterMs : undefined;
      notBefore.set(id, clock.monotonic() + (wait ?? RETRY_MS));
      return "later";
    },
  };
}
