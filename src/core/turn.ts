import type { Conversation, Fresh, Routing } from "./conversation.ts";
import type { NewDelivery } from "./delivery.ts";
import type { NewMessage } from "./message.ts";
import type { Session } from "./session.ts";
import type { Source } from "./source.ts";
import type { UsageDelta } from "./usage.ts";

/** Bytes that a message's parts name by hash; stored in the same commit as the message. */
export interface Blob {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** An inbound message to be stored before the platform hears "got it". */
export interface Accept extends Routing {
  /** The platform's own id of the message: with profile, platform and chat, what makes a second arrival a duplicate. */
  readonly messageId: string;
  readonly message: NewMessage;
  readonly blobs?: readonly Blob[];
  /** The platform's place in its own stream, stored in the same commit. */
  readonly cursor?: { readonly name: string; readonly value: string };
  /** Start the turn at once if the session is free; else this runner sees to it, for as long as it lives. */
  readonly claim?: ClaimBy;
}

export interface ClaimBy {
  readonly runner: string;
  /** How many waiting messages one turn takes. */
  readonly take: "one" | "all";
  readonly deadline?: number;
}

export type Accepted =
  | { readonly duplicate: true; readonly inbox: number }
  | {
      readonly duplicate: false;
      readonly inbox: number;
      readonly session: Session;
      readonly conversation: Conversation;
      readonly fresh?: Fresh;
      readonly scopeKept: boolean;
      readonly turn?: Turn;
    };

/** One run of the agent for one or more inbound messages. Whoever holds `fence` may write for it. */
export interface Turn {
  readonly number: number;
  readonly session: string;
  readonly conversation: number;
  readonly fence: number;
  /** 1, then one more for every time it had to be taken up again. */
  readonly attempt: number;
  /** Fixed when the turn is created: where the answer goes. */
  readonly target: Source;
  /** The seqs of the inputs in the session. */
  readonly inputs: readonly number[];
}

export interface Claim extends ClaimBy {
  readonly session: string;
  readonly now: number;
}

export type TurnOutcome = "done" | "interrupted" | "failed";

export interface Finish {
  readonly turn: number;
  readonly fence: number;
  readonly outcome: TurnOutcome;
  readonly messages: readonly NewMessage[];
  readonly blobs?: readonly Blob[];
  readonly usage?: UsageDelta;
  readonly deliveries?: readonly NewDelivery[];
  /** What the person or the model was told in this turn about a fresh start. */
  readonly shown?: Shown;
  /** Take up the session's next waiting input in the same commit. */
  readonly next?: ClaimBy;
  readonly now: number;
}

export interface Finished {
  readonly seqs: readonly number[];
  readonly deliveries: readonly number[];
  readonly next?: Turn;
}

export interface Shown {
  readonly note?: boolean;
  readonly notice?: boolean;
}
