import { textPart } from "../core/message.ts";
import type { Process } from "../core/process.ts";
import type { Clock } from "../ports/clock.ts";
import type { Outbound } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import type { PlatformConnection } from "./flow.ts";

/** `later`: it is not known where the message is, or the platform could not be asked. `nowhere`: there is none to edit. */
export type StatusUpdateResult = "shown" | "later" | "nowhere";

/** The one message of a process that is edited while it runs. */
export interface ProcessStatusMessage {
  /** Has it say this. Done twice, nothing is to be seen of it. */
  update(connected: PlatformConnection, process: Process, words: string): Promise<StatusUpdateResult>;
}

/** How long a platform that could not be asked is left alone, unless it says. */
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
  /** By process: until then it is not asked again, by the monotonic clock. */
  const notBefore = new Map<string, number>();

  async function messageOf({ reported }: Process): Promise<string | "later" | undefined> {
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
    async update({ platform }, process, words) {
      const { id, target } = process;
      if (clock.monotonic() < (notBefore.get(id) ?? 0)) return "later";
      notBefore.delete(id);
      if (platform.edit === undefined) return "nowhere";
      const messageId = await messageOf(process);
      if (messageId === undefined) return "nowhere";
      if (messageId === "later") return "later";
      const out: Outbound = {
        target,
        parts: [textPart(words.toWellFormed())],
        nonce: "",
        quiet: true,
        blob: (hash) => store.messages.readBlob({ asker: { everyone: true }, hash }),
      };
      const edited = await platform.edit(out, messageId, signal);
      if (edited.state === "gone") return "nowhere";
      // They will not have it edited: as it stands is as well as it gets.
      if (edited.state === "sent" || edited.state === "refused") return "shown";
      const wait = edited.state === "not_sent" ? edited.retryAfterMs : undefined;
      notBefore.set(id, clock.monotonic() + (wait ?? RETRY_MS));
      return "later";
    },
  };
}
