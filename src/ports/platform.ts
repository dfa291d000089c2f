import type { Delivery } from "../core/delivery.ts";
import type { NewMessage } from "../core/message.ts";
import type { PlatformTraits } from "../core/platforms.ts";
import type { Source } from "../core/source.ts";
import type { Blob, PlatformCursor } from "../core/turn.ts";

/** A chat platform, connected as one account. A driver is a function that returns a `Platform`. */
export interface Platform {
  /** The same as `platform` in its sources: `telegram`. */
  readonly name: string;
  /** Our own account there, such as the bot's id. Only one process at a time connects as it. */
  readonly account: string;
  readonly traits: PlatformTraits;
  /** Which messages of an answer that was split are replies to the input. Default `first`. */
  readonly replyMode?: "first" | "all";
  /**
   * Receives until the signal aborts. Passes updates to the receiver in order within each chat, and acknowledges an update
   * only after the receiver's promise resolved. If that promise rejects, this one rejects too and the platform delivers the
   * update again. A busy chat does not delay others. Rejects with `platform_refused` if a retry cannot help (a wrong token),
   * otherwise with `platform_down`.
   */
  run(receiver: Receiver, signal: AbortSignal): Promise<void>;
  /** Sends one message. A failure of the platform or the network is an outcome, never an exception. */
  send(out: Outbound, signal: AbortSignal): Promise<SendOutcome>;
  /** Replaces a message that was sent. A repeated call has no further effect. `gone` if the message no longer exists. */
  edit?(
    out: Outbound,
    messageId: string,
    signal: AbortSignal,
  ): Promise<SendOutcome | { readonly state: "gone" }>;
  /** Finds the message that an earlier attempt with the same nonce sent. Only for platforms with `can_be_looked_up`. */
  lookUp?(out: Outbound, signal: AbortSignal): Promise<string | undefined>;
  /** Shows a typing indicator for a few seconds. The caller ignores failures. */
  sendTyping?(target: Source, signal: AbortSignal): Promise<void>;
  /** Publishes these commands in the platform's command menu. */
  setMenu?(commands: readonly MenuEntry[], signal: AbortSignal): Promise<void>;
  /** The minimum interval between updates of a draft in this chat. Without it, answers are sent only when complete. */
  getDraftIntervalMs?(target: Source): number;
}

/**
 * Accepts the updates of a platform. Each promise resolves when the update is stored, was stored before, or is dropped. A
 * platform may pass the next update of a chat at once: after a failed one, the later ones of that chat are rejected too.
 */
export interface Receiver {
  /** Whether the sender has access. A driver need not download files of senders without access. */
  canSpeak(source: Source): Promise<boolean>;
  receiveMessage(inbound: Inbound): Promise<void>;
  /** A person edited a message. `sentAt` is the time of the original. */
  receiveEdit(inbound: Inbound & { readonly sentAt: number }): Promise<void>;
  /** A person deleted a message. */
  receiveDeletion(withdrawn: Omit<Inbound, "message" | "blobs">): Promise<void>;
  /** A person pressed a button of one of our messages: handled like the typed line. `messageId` identifies the press. */
  receivePress(press: Omit<Inbound, "message" | "blobs"> & { readonly line: string }): Promise<void>;
  /** The connection works, or works again. */
  markConnected(): void;
  /** The stored position in the platform's stream. */
  getCursor(name: string): Promise<string | undefined>;
}

export interface Inbound {
  readonly source: Source;
  /** The platform's own id of the message, unique in its chat. */
  readonly messageId: string;
  readonly message: NewMessage;
  readonly blobs?: readonly Blob[];
  /** Stored in the same commit as the message. */
  readonly cursor?: PlatformCursor;
}

/** One outbound message: Markdown text within the platform's limit, or files with a caption. */
export interface Outbound
  extends Pick<Delivery, "target" | "parts" | "nonce" | "replyTo" | "buttons" | "quiet"> {
  /** Reads the bytes that a part refers to. */
  blob(hash: string): Promise<Uint8Array | undefined>;
}

export type SendOutcome =
  | { readonly state: "sent"; readonly messageId: string }
  /** The platform rejected it. A retry cannot help. */
  | { readonly state: "refused"; readonly reason: string }
  /** It did not arrive. A retry may help. */
  | {
      readonly state: "not_sent";
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly cause?: FailureCause;
    }
  /** It may have arrived, completely or in part: the connection broke after the request was sent. */
  | { readonly state: "unknown"; readonly reason: string; readonly cause?: FailureCause };

/**
 * `message`: the platform answered with an error about this message, so other messages may still succeed. Absent if the
 * platform could not be reached, is down, or asked us to wait.
 */
export type FailureCause = "message";

export interface MenuEntry {
  readonly name: string;
  readonly summary: string;
}
