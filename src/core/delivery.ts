import type { Part } from "./message.ts";
import type { ProcessReport } from "./process.ts";
import type { Source } from "./source.ts";
import type { Blob } from "./turn.ts";

/** One outbound part on its way to one target. Stored before the platform is called. */
export interface NewDelivery {
  readonly target: Source;
  readonly parts: readonly Part[];
  /** The platform's id of the message that it answers. */
  readonly replyTo?: string;
  readonly buttons?: Buttons;
  /** The same process sends it at once: the first attempt is counted in the same commit. */
  readonly sendNow?: boolean;
  /** The delivery that was shown as a draft and now gets its last text. */
  readonly draft?: number;
  /** Nobody is called by it, where the platform can do that. */
  readonly quiet?: boolean;
}

/** Rows of lines to press instead of typing them. */
export type Buttons = readonly (readonly { readonly label: string; readonly line: string }[])[];

export type DeliveryState =
  /** An answer that is still being written is shown, or is about to be. It belongs to its turn. */
  | { readonly state: "draft"; readonly attempts: number; readonly shown: AttemptTrace }
  | (DeliveryFailures & {
      readonly state: "waiting";
      readonly attempts: number;
      readonly nextAt: number;
      readonly shown: AttemptTrace;
      readonly lastError?: string;
    })
  | (DeliveryFailures & {
      readonly state: "sending";
      readonly attempts: number;
      readonly shown: AttemptTrace;
      readonly runner?: string;
    })
  | {
      readonly state: "sent";
      readonly attempts: number;
      readonly at: number;
      readonly platformMessageId?: string;
    }
  | { readonly state: "dead"; readonly attempts: number; readonly at: number; readonly lastError: string };

/** What the platform has said to this very delivery so far. */
export interface DeliveryFailures {
  /** How many attempts the platform has answered with an error; absent for none. */
  readonly failures?: number;
  /** When it stepped aside: later deliveries to its target no longer wait for it. */
  readonly deferredAt?: number;
}

/** What earlier attempts have left in the chat: nothing, this message, or nobody knows. */
export type AttemptTrace = "nothing" | "unknown" | { readonly messageId: string };

export interface Delivery {
  readonly number: number;
  /** Absent for what belongs to none: an answer to a command in a chat where nothing was said yet. */
  readonly session?: string;
  readonly turn?: number;
  readonly target: Source;
  readonly parts: readonly Part[];
  readonly replyTo?: string;
  readonly buttons?: Buttons;
  readonly quiet?: boolean;
  /** The delivery that it tells the person of: it has that one's place in the order. */
  readonly noticeFor?: number;
  /** The same for every attempt, and no other delivery's. */
  readonly nonce: string;
  readonly status: DeliveryState;
}

/** What became of one attempt. */
export interface Settle {
  readonly delivery: number;
  readonly outcome:
    | { readonly state: "sent"; readonly platformMessageId?: string }
    /** `shown`, if the attempt has changed what is in the chat, or may have. */
    | {
        readonly state: "waiting";
        readonly nextAt: number;
        readonly error: string;
        readonly shown?: AttemptTrace;
        /** The platform has answered this attempt with an error. */
        readonly failed?: boolean;
        /** From now on, later deliveries to the same target do not wait for it. */
        readonly deferred?: boolean;
      }
    | { readonly state: "dead"; readonly error: string };
  /** Tells the person that it steps aside or is dead. Stored in the same commit, and only once for each delivery. */
  readonly notice?: NewDelivery;
  readonly now: number;
}

export interface SettledDelivery extends Delivery {
  /** The notice, if one was stored now. */
  readonly notice?: Delivery;
}

/** Deliveries that no turn has made: an answer to a command, a notice. */
export interface Enqueue {
  readonly deliveries: readonly NewDelivery[];
  /** Who sends those that are begun. */
  readonly runner: string;
  readonly session?: string;
  /** Bytes that the parts name. */
  readonly blobs?: readonly Blob[];
  /** The line that they answer: it is done in the same commit. */
  readonly answeredCommand?: number;
  /** The person was told of the fresh start of this conversation, in the same commit. */
  readonly resetNoticeFor?: number;
  /** What they tell of a process; if that has been told by now, nothing is stored, and nothing comes back. */
  readonly processReport?: ProcessReport;
  /** The question that they put to the person. */
  readonly approval?: number;
  readonly now: number;
}
