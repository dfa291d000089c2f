import type { Conversation, PolicyDecision } from "./conversation.ts";
import type { Delivery } from "./delivery.ts";
import type { Identity } from "./identity.ts";

/** A conversation with everything that decided where it is: for people who ask why. */
export interface ConversationDetails extends Conversation {
  readonly identity: Identity;
  /** The current session's short name. */
  readonly handle: string;
  readonly createdAt: number;
  /** Whose messages go there, when it is one account's alone. */
  readonly account?: ConversationAccount;
  /** Messages that were accepted there and wait for their turn. */
  readonly waiting: number;
}

export interface ConversationAccount {
  readonly platform: string;
  readonly id?: string;
  readonly altId?: string;
  readonly name?: string;
  readonly person: string;
}

/** A turn as it was: for reading only. */
export interface TurnRecord {
  readonly number: number;
  readonly conversation: number;
  readonly runner: string;
  readonly attempt: number;
  readonly state: string;
  readonly startedAt: number;
  readonly endedAt?: number;
}

/** What is around a session. Turns, deliveries and decisions: the newest 20 of each, newest first. */
export interface Diagnostics {
  readonly conversations: readonly ConversationDetails[];
  readonly turns: readonly TurnRecord[];
  readonly deliveries: readonly Delivery[];
  /** Those that led a conversation to it or away from it. */
  readonly decisions: readonly (PolicyDecision & { readonly conversation: number })[];
  /** Those that have not run out are what keeps it from being reset. */
  readonly holds: readonly { readonly name: string; readonly until: number }[];
  /** Those that run in the background: they keep it, too. */
  readonly processes: readonly { readonly id: string; readonly command: string }[];
}

/** What became of what came in. A line is `unanswered` until it is done; `refused`: too much waited already. */
export type InboundState = "waiting" | "running" | "done" | "cancelled" | "unanswered" | "refused";

/** How a message came in. */
export interface InboundRecord {
  readonly platform: string;
  readonly chatId: string;
  readonly messageId: string;
  readonly at: number;
  readonly state: InboundState;
  readonly conversation: number;
  /** Where it stands; while it waits, where it would. */
  readonly session?: string;
  readonly seq?: number;
  readonly turn?: TurnRecord;
}
