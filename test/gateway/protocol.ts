/** The wire protocol of the simulated messenger that judges the gateway. */

/** The maximum text length, in UTF-16 units. */
export const LONGEST_TEXT = 2000;

/** A messenger that is opened with `stuck` always answers messages with this word with an error. */
export const STUCK = "STUCK";

export interface ChatPlace {
  /** `dm-ann`, `group-7`. */
  readonly chat: string;
  readonly type: "dm" | "group";
  readonly thread?: string;
}

export interface FileJson {
  readonly name: string;
  readonly mimeType: string;
  readonly base64: string;
}

interface About extends ChatPlace {
  readonly id: number;
  /** The sender; the bot's own account for its own messages. */
  readonly from: string;
  /** Unique in its chat only, as on many platforms. */
  readonly messageId: string;
  readonly at: number;
}

/** Kept for the bot until a later offset confirms it. */
export type Update =
  | (About & { readonly kind: "message"; readonly text: string; readonly files?: readonly FileJson[] })
  | (About & { readonly kind: "edited"; readonly text: string; readonly saidAt: number })
  | (About & { readonly kind: "deleted" })
  /** `messageId` is the message with the button. */
  | (About & { readonly kind: "pressed"; readonly press: string; readonly line: string });

export interface SendRequest {
  readonly chat: string;
  readonly thread?: string;
  readonly text: string;
  readonly nonce: string;
  readonly replyTo?: string;
  readonly buttons?: readonly (readonly { readonly label: string; readonly line: string }[])[];
  readonly files?: readonly FileJson[];
}

export interface EditRequest extends Pick<SendRequest, "chat" | "text" | "buttons"> {
  readonly messageId: string;
}

/** The reaction of the messenger to one request. Faults before `cut` prevent that it is accepted. */
export type Fault =
  | { readonly kind: "delay"; readonly ms: number }
  /** 503: not accepted. */
  | { readonly kind: "fail" }
  /** 500: this message is not accepted now; others are. */
  | { readonly kind: "error" }
  /** 403: refused. */
  | { readonly kind: "refuse" }
  /** 429. */
  | { readonly kind: "wait"; readonly ms: number }
  /** The connection breaks before the request is accepted. */
  | { readonly kind: "drop" }
  /** The request is accepted; the connection breaks before the answer. */
  | { readonly kind: "cut" }
  /** The request is accepted; the answer is held until it is released, or the bot gives up. */
  | { readonly kind: "hold" };

export type FaultyRequest = "send" | "edit" | "updates" | "sent";

/** One fault for the next request of its kind, in one chat or in any. */
export interface PlannedFault {
  readonly on: FaultyRequest;
  readonly chat?: string;
  readonly fault: Fault;
}

/** Random faults, the same for the same seed and the same requests: the probability of each, from 0 to 1. */
export interface Chances {
  readonly seed: number;
  readonly send?: Partial<Record<Fault["kind"], number>>;
  readonly edit?: Partial<Record<Fault["kind"], number>>;
  readonly updates?: Partial<Record<Fault["kind"], number>>;
  /** Lookups of sent messages. */
  readonly sent?: Partial<Record<Fault["kind"], number>>;
  /** An update is delivered a second time, with another number. */
  readonly duplicate?: number;
  /** An update is delivered some milliseconds later, perhaps after later ones. */
  readonly late?: number;
}

export interface MessengerOptions {
  /** A repeated nonce is one message. */
  readonly idempotent?: boolean;
  /** The bot also receives its own messages. */
  readonly echoes?: boolean;
  /** Some messages are never accepted; see `STUCK`. */
  readonly stuck?: boolean;
  readonly chances?: Chances;
}

interface Seen {
  /** Numbers all events in order. */
  readonly seq: number;
  readonly at: number;
}

/** All events, as the messenger saw them. */
export type Witnessed = Seen &
  (
    | ({
        readonly kind: "said";
        readonly person: string;
        readonly messageId: string;
        readonly text: string;
      } & ChatPlace)
    | {
        readonly kind: "changed";
        readonly chat: string;
        readonly messageId: string;
        /** Absent when it was deleted. */
        readonly text?: string;
      }
    /** The bot's message is shown in the chat. */
    | ({
        readonly kind: "sent";
        readonly messageId: string;
        readonly members: readonly string[];
      } & SendRequest)
    | ({ readonly kind: "edited" } & EditRequest)
    /** A repeated nonce that was recognised: nothing was shown. */
    | {
        readonly kind: "recognised";
        readonly chat: string;
        readonly nonce: string;
        readonly messageId: string;
      }
    | { readonly kind: "typing"; readonly chat: string; readonly thread?: string }
    | {
        readonly kind: "menu";
        readonly commands: readonly { readonly name: string; readonly summary: string }[];
      }
    | {
        readonly kind: "fault";
        readonly on: FaultyRequest;
        readonly fault: Fault["kind"];
        readonly chat?: string;
      }
    /** Two processes received as the same bot at the same time. */
    | { readonly kind: "conflict" }
    /** A tool caused an outside effect. */
    | { readonly kind: "effect"; readonly name: string }
  );

/** `Omit` for each member of a union separately. */
export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
