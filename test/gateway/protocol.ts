/** What goes over the wire to and from the made-up messenger that judges the gateway. */

/** The longest text that it takes, in UTF-16 units. */
export const LONGEST_TEXT = 2000;

/** A messenger that is opened with `stuck` answers every message with this word with an error, for ever. */
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
  /** Who did it; the bot's own account for what it has sent itself. */
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

/** What the messenger does with one request. Those before `cut` happen before anything is taken. */
export type Fault =
  | { readonly kind: "delay"; readonly ms: number }
  /** 503: not taken. */
  | { readonly kind: "fail" }
  /** 500: this one message cannot be taken now; others can. */
  | { readonly kind: "error" }
  /** 403: it does not want it. */
  | { readonly kind: "refuse" }
  /** 429. */
  | { readonly kind: "wait"; readonly ms: number }
  /** The connection breaks and nothing was taken. */
  | { readonly kind: "drop" }
  /** It was taken; the connection breaks before it is said so. */
  | { readonly kind: "cut" }
  /** It was taken; nothing is said until somebody lets go, or the bot gives up. */
  | { readonly kind: "hold" };

export type FaultyRequest = "send" | "edit" | "updates" | "sent";

/** One fault for the next request of its kind, in one chat or in any. */
export interface PlannedFault {
  readonly on: FaultyRequest;
  readonly chat?: string;
  readonly fault: Fault;
}

/** Faults by chance, the same ones for the same seed and the same requests: how likely each is, from 0 to 1. */
export interface Chances {
  readonly seed: number;
  readonly send?: Partial<Record<Fault["kind"], number>>;
  readonly edit?: Partial<Record<Fault["kind"], number>>;
  readonly updates?: Partial<Record<Fault["kind"], number>>;
  /** Looking up what was sent. */
  readonly sent?: Partial<Record<Fault["kind"], number>>;
  /** An update comes a second time, under another number. */
  readonly duplicate?: number;
  /** An update comes some milliseconds later, perhaps behind what was said after it. */
  readonly late?: number;
}

export interface MessengerOptions {
  /** The same nonce twice is one message. */
  readonly idempotent?: boolean;
  /** The bot is told of its own messages, too. */
  readonly echoes?: boolean;
  /** Some messages are never taken; see `STUCK`. */
  readonly stuck?: boolean;
  readonly chances?: Chances;
}

interface Seen {
  /** Counts everything that happens, in order. */
  readonly seq: number;
  readonly at: number;
}

/** Everything that happened, as the messenger saw it. */
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
        /** Absent when it was taken back. */
        readonly text?: string;
      }
    /** The bot's message stands in the chat. */
    | ({
        readonly kind: "sent";
        readonly messageId: string;
        readonly members: readonly string[];
      } & SendRequest)
    | ({ readonly kind: "edited" } & EditRequest)
    /** A nonce that came again and was recognised: nobody saw anything. */
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
    /** Two processes received as the same bot at once. */
    | { readonly kind: "conflict" }
    /** Something outside was changed by a tool. */
    | { readonly kind: "effect"; readonly name: string }
  );

/** `Omit` for each member of a union by itself. */
export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
