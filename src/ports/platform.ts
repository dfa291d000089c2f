import type { Delivery } from "../core/delivery.ts";
import type { NewMessage } from "../core/message.ts";
import type { PlatformTraits } from "../core/platforms.ts";
import type { Source } from "../core/source.ts";
import type { Blob, PlatformCursor } from "../core/turn.ts";

/** A place where people talk, over one connection of one account. A driver is a function that returns one. */
export interface Platform {
  /** As in sources: `telegram`. */
  readonly name: string;
  /** Who we are there, such as a bot's id. One process at a time may be connected as this. */
  readonly account: string;
  readonly traits: PlatformTraits;
  /** Which messages of an answer in several name the message that they answer. Default `first`. */
  readonly replyMode?: "first" | "all";
  /**
   * Receives until the signal aborts. What arrives is handed to the receiver, in order within a chat, and acknowledged
   * to the platform only after the receiver's promise has resolved; if that rejects, so does this, and the platform
   * brings the message again. A chat that sends much does not keep others from being handed over. Rejects with
   * `platform_refused` when asking again would not help (a wrong token), else
   * with `platform_down`.
   */
  run(receiver: Receiver, signal: AbortSignal): Promise<void>;
  /** Sends one message. Never throws for what the platform or the network does: the outcome tells. */
  send(out: Outbound, signal: AbortSignal): Promise<SendOutcome>;
  /** Replaces a message that was sent. Repeating it changes nothing. `gone` when there is nothing to replace. */
  edit?(
    out: Outbound,
    messageId: string,
    signal: AbortSignal,
  ): Promise<SendOutcome | { readonly state: "gone" }>;
  /** The message that an earlier attempt with this nonce left behind, where traits say that it can be looked up. */
  lookUp?(out: Outbound, signal: AbortSignal): Promise<string | undefined>;
  /** Shows for a few seconds that an answer is being written. A failure is nobody's concern. */
  sendTyping?(target: Source, signal: AbortSignal): Promise<void>;
  /** Offers these commands where the platform has a menu for them. */
  setMenu?(commands: readonly MenuEntry[], signal: AbortSignal): Promise<void>;
  /** How often drafts may be shown in a chat, in milliseconds. Without it, answers are sent when they are whole. */
  getDraftIntervalMs?(target: Source): number;
}

/**
 * What a platform tells, each resolved when it is stored, was stored before, or is dropped. A platform need not wait for
 * one before it tells the next of the same chat: after one that is not stored, those behind it in its chat are rejected too.
 */
export interface Receiver {
  /** Whether the sender may speak here. Files of those who may not need not be fetched. */
  canSpeak(source: Source): Promise<boolean>;
  receiveMessage(inbound: Inbound): Promise<void>;
  /** A person changed what they had said. `sentAt` is when they first said it. */
  receiveEdit(inbound: Inbound & { readonly sentAt: number }): Promise<void>;
  /** A person took back what they had said. */
  receiveDeletion(withdrawn: Omit<Inbound, "message" | "blobs">): Promise<void>;
  /** A button of one of our messages was pressed: as if this line had been said. `messageId` names the press. */
  receivePress(press: Omit<Inbound, "message" | "blobs"> & { readonly line: string }): Promise<void>;
  /** The connection works, or has come to work again. */
  markConnected(): void;
  /** Where the platform's own stream was when something was last stored. */
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

/** One message on its way out: a text within the platform's limit, in Markdown, or files with a caption. */
export interface Outbound
  extends Pick<Delivery, "target" | "parts" | "nonce" | "replyTo" | "buttons" | "quiet"> {
  /** The bytes that the parts name. */
  blob(hash: string): Promise<Uint8Array | undefined>;
}

export type SendOutcome =
  | { readonly state: "sent"; readonly messageId: string }
  /** They said no; asking again would not help. */
  | { readonly state: "refused"; readonly reason: string }
  /** It did not arrive, and trying again may help. */
  | {
      readonly state: "not_sent";
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly cause?: FailureCause;
    }
  /** It may have arrived, whole or in part: the connection broke after it had gone out. */
  | { readonly state: "unknown"; readonly reason: string; readonly cause?: FailureCause };

/**
 * `message`: the platform was asked and answered this very message with an error, while others may go. Absent when it
 * could not be asked, is down as a whole, or asked us to wait.
 */
export type FailureCause = "message";

export interface MenuEntry {
  readonly name: string;
  readonly summary: string;
}
