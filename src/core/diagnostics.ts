import type { Conversation, PolicyDecision } from "./conversation.ts";
import type { Delivery } from "./delivery.ts";
import type { Identity } from "./identity.ts";

/** A conversation with the data that explains its current session. */
export interface ConversationDetails extends Conversation {
  readonly identity: Identity;
  /** The handle of the current session. */
  readonly handle: string;
  readonly createdAt: number;
  /** The account, if the conversation belongs to a single one. */
  readonly account?: ConversationAccount;
  /** The number of pending messages. */
  readonly waiting: number;
}

export interface ConversationAccount {
  readonly platform: string;
  readonly id?: string;
  readonly altId?: string;
  readonly name?: string;
  readonly person: string;
}

/** A past or running turn, read-only. */
export interface TurnRecord {
  readonly number: number;
  readonly conversation: number;
  readonly runner: string;
  readonly attempt: number;
  readonly state: string;
  readonly startedAt: number;
  readonly endedAt?: number;
}

/** Details about a session. Turns, deliveries and decisions: the newest 20 of each, newest first. */
export interface Diagnostics {
  readonly conversations: readonly ConversationDetails[];
  readonly turns: readonly TurnRecord[];
  readonly deliveries: readonly Delivery[];
  /** Decisions that moved a conversation to or from the session. */
  readonly decisions: readonly (PolicyDecision & { readonly conversation: number })[];
  /** A hold that has not expired prevents a reset. */
  readonly holds: readonly { readonly name: string; readonly until: number }[];
  /** Running background processes. They also prevent a reset. */
  readonly processes: readonly { readonly id: string; readonly command: string }[];
}

/** The state of an inbound message. `unanswered`: a command that is not done; `refused`: the queue was full. */
export type InboundState = "waiting" | "running" | "done" | "cancelled" | "unanswered" | "refused";

/** The inbox record of a message. */
export interface InboundRecord {
  readonly platform: string;
  readonly chatId: string;
  readonly messageId: string;
  readonly at: number;
  readonly state: InboundState;
  readonly conversation: number;
  /** The session that contains it, or will if it is pending. */
  readonly session?: string;
  readonly seq?: number;
  readonly turn?: TurnRecord;
}
