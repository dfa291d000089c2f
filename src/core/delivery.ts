import type { Part } from "./message.ts";
import type { ProcessReport } from "./process.ts";
import type { Source } from "./source.ts";
import type { Blob } from "./turn.ts";

/** One outbound message to one target. Stored before the platform is called. */
export interface NewDelivery {
  readonly target: Source;
  readonly parts: readonly Part[];
  /** The platform's id of the message that this one replies to. */
  readonly replyTo?: string;
  readonly buttons?: Buttons;
  /** The calling process sends it at once, so the same commit counts the first attempt. */
  readonly sendNow?: boolean;
  /** The draft delivery that this one completes. */
  readonly draft?: number;
  /** Sent without a notification sound, if the platform supports it. */
  readonly quiet?: boolean;
}

/** Rows of buttons. A press is handled like typing the line. */
export type Buttons = readonly (readonly { readonly label: string; readonly line: string }[])[];

export type DeliveryState =
  /** The partial answer of a running turn is shown, or is about to be. */
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

/** Errors of the platform about this delivery. */
export interface DeliveryFailures {
  /** The number of attempts that the platform answered with an error. Absent for none. */
  readonly failures?: number;
  /** When it was deferred: later deliveries to the same target do not wait for it. */
  readonly deferredAt?: number;
}

/** The result of earlier attempts in the chat: nothing, this message, or unknown. */
export type AttemptTrace = "nothing" | "unknown" | { readonly messageId: string };

export interface Delivery {
  readonly number: number;
  /** Absent without a session: the answer to a command in a chat without messages. */
  readonly session?: string;
  readonly turn?: number;
  readonly target: Source;
  readonly parts: readonly Part[];
  readonly replyTo?: string;
  readonly buttons?: Buttons;
  readonly quiet?: boolean;
  /** The delivery that this notice is about. The notice takes its position in the order. */
  readonly noticeFor?: number;
  /** The same for all attempts, unique for the delivery. */
  readonly nonce: string;
  readonly status: DeliveryState;
}

/** The outcome of one attempt. */
export interface Settle {
  readonly delivery: number;
  readonly outcome:
    | { readonly state: "sent"; readonly platformMessageId?: string }
    /** `shown` is set if the attempt changed the chat, or may have. */
    | {
        readonly state: "waiting";
        readonly nextAt: number;
        readonly error: string;
        readonly shown?: AttemptTrace;
        /** The platform answered this attempt with an error. */
        readonly failed?: boolean;
        /** Later deliveries to the same target do not wait for it any more. */
        readonly deferred?: boolean;
      }
    | { readonly state: "dead"; readonly error: string };
  /** Notifies the person that the delivery is deferred or dead. Stored in the same commit, once for each delivery. */
  readonly notice?: NewDelivery;
  readonly now: number;
}

export interface SettledDelivery extends Delivery {
  /** The notice, if this call stored one. */
  readonly notice?: Delivery;
}

/** Deliveries without a turn: the answer to a command, a notice. */
export interface Enqueue {
  readonly deliveries: readonly NewDelivery[];
  /** The runner that sends the deliveries with `sendNow`. */
  readonly runner: string;
  readonly session?: string;
  /** Bytes that the parts refer to. */
  readonly blobs?: readonly Blob[];
  /** The command that they answer. The same commit marks it as done. */
  readonly answeredCommand?: number;
  /** The conversation whose reset they announce. The same commit records the notification. */
  readonly resetNoticeFor?: number;
  /** The process report that they contain. If it was reported before, nothing is stored and the result is empty. */
  readonly processReport?: ProcessReport;
  /** The approval request that they show. */
  readonly approval?: number;
  readonly now: number;
}
