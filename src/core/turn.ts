import type { Conversation, ConversationSettings, FreshStart, Routing } from "./conversation.ts";
import type { Delivery, AttemptTrace as DeliveryShown, NewDelivery } from "./delivery.ts";
import type { NewMessage } from "./message.ts";
import type { PlanEntry } from "./plan.ts";
import type { Session } from "./session.ts";
import type { Source } from "./source.ts";
import type { UsageDelta } from "./usage.ts";

/** Bytes that a message's parts name by hash; stored in the same commit as the message. */
export interface Blob {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** The platform's place in its own stream. */
export interface PlatformCursor {
  readonly name: string;
  readonly value: string;
}

/** An inbound message to be stored before the platform hears "got it". */
export interface Accept extends Routing {
  /** The platform's own id of the message: with profile, platform and chat, what makes a second arrival a duplicate. */
  readonly messageId: string;
  readonly message: NewMessage;
  readonly blobs?: readonly Blob[];
  /** Stored in the same commit. */
  readonly cursor?: PlatformCursor;
  /** How many messages may wait in a conversation. One more is not taken, and will not be when it comes again. */
  readonly maxPending?: number;
  /** Start the turn at once if the session is free; else this runner sees to it, for as long as it lives. */
  readonly claim?: ClaimBy;
}

export interface ClaimBy {
  readonly runner: string;
  /** Only what this runner has accepted itself. */
  readonly own?: true;
  /** How many waiting messages one turn takes. */
  readonly take: "one" | "all";
  readonly deadline?: number;
}

export type Accepted =
  | { readonly duplicate: true; readonly inbox: number }
  | { readonly duplicate: false; readonly inbox: number; readonly tooMany: number; readonly isFirst: boolean }
  | {
      readonly duplicate: false;
      readonly tooMany?: undefined;
      readonly inbox: number;
      readonly session: Session;
      readonly conversation: Conversation;
      readonly fresh?: FreshStart;
      readonly usesOldScope: boolean;
      readonly turn?: Turn;
      /** The number of the turn behind which it waits, if one runs. */
      readonly running?: number;
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
  /** What was chosen for the conversation. */
  readonly settings: ConversationSettings;
  /** A fresh start of which the model or the person has not been told yet. */
  readonly fresh?: FreshStart;
  /** What an earlier attempt had said after the last message that it stored. */
  readonly answerDraft?: AnswerDraft;
  /** A draft of the answer that an earlier attempt has shown, or may have. */
  readonly draftDelivery?: { readonly delivery: number; readonly shown: DeliveryShown };
}

/** What an agent has said and thought since its last whole message. */
export interface AnswerDraft {
  readonly text: string;
  readonly thought: string;
  readonly plan?: readonly PlanEntry[];
}

/** What is kept of the message that a running turn is writing. */
export interface MessageDraft {
  /** The seq that the message will have. */
  readonly seq: number;
  readonly answerDraft: AnswerDraft;
}

export interface SaveDraftInput {
  readonly turn: number;
  readonly fence: number;
  readonly answerDraft: AnswerDraft;
}

/**
 * A line that is no message: a command, a press of a button, a stranger's words. It waits for no turn, but it is stored
 * before it is acknowledged and acts once, however often it arrives.
 */
export interface AcceptCommand {
  readonly profile: string;
  readonly source: Source;
  readonly messageId: string;
  readonly line: string;
  readonly runner: string;
  readonly cursor?: PlatformCursor;
  readonly now: number;
}

/** A line whose runner is gone and that was not answered: it may have acted. */
export interface OrphanedCommand {
  readonly inbox: number;
  readonly source: Source;
  readonly messageId: string;
  readonly line: string;
}

/** A person changed or took back what they had said. Only what still waits changes; else it is recorded. */
export interface InboundEdit {
  readonly profile: string;
  readonly source: Pick<Source, "platform" | "chatId">;
  readonly messageId: string;
  /** Absent when it was taken back. */
  readonly message?: NewMessage;
  readonly blobs?: readonly Blob[];
  readonly cursor?: PlatformCursor;
  readonly now: number;
}

/** `late`: its turn had begun. `unknown`: there is no such message here. */
export type InboundEditOutcome = "changed" | "late" | "unknown";

export interface BeginDraft {
  readonly turn: number;
  readonly fence: number;
  readonly target: Source;
  readonly replyTo?: string;
  readonly now: number;
}

/** What became of the attempt to show a draft. What has surely not arrived leaves no delivery behind. */
export interface DraftOutcome {
  readonly delivery: number;
  readonly shown: DeliveryShown;
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
  readonly notified?: ResetNotification;
  /** Take up the session's next waiting input in the same commit. */
  readonly next?: ClaimBy;
  readonly now: number;
}

export interface Finished {
  readonly seqs: readonly number[];
  /** In the order given, as they are stored now. */
  readonly deliveries: readonly Delivery[];
  readonly next?: Turn;
}

export interface ResetNotification {
  readonly note?: boolean;
  readonly notice?: boolean;
}
