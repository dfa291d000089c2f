import type { Conversation, ConversationSettings, FreshStart, Routing } from "./conversation.ts";
import type { Delivery, AttemptTrace as DeliveryShown, NewDelivery } from "./delivery.ts";
import type { NewMessage } from "./message.ts";
import type { Session } from "./session.ts";
import type { Source } from "./source.ts";
import type { UsageDelta } from "./usage.ts";

/** Bytes that message parts refer to by hash. Stored in the same commit as the message. */
export interface Blob {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** The position in the platform's stream of updates. */
export interface PlatformCursor {
  readonly name: string;
  readonly value: string;
}

/** An inbound message, to be stored before it is acknowledged to the platform. */
export interface Accept extends Routing {
  /** The platform's id of the message. With profile, platform and chat it identifies duplicates. */
  readonly messageId: string;
  readonly message: NewMessage;
  readonly blobs?: readonly Blob[];
  /** Stored in the same commit. */
  readonly cursor?: PlatformCursor;
  /** The maximum number of pending messages. A further message is refused, also if the platform delivers it again. */
  readonly maxPending?: number;
  /** Starts the turn at once if the session is free. Otherwise this runner starts it later, while it lives. */
  readonly claim?: ClaimBy;
}

export interface ClaimBy {
  readonly runner: string;
  /** True: only messages that this runner accepted. False: only messages that other runners accepted. */
  readonly own?: boolean;
  /** How many pending messages the turn takes. */
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
      /** The number of the running turn that it waits for, if any. */
      readonly running?: number;
    };

/** One run of the agent for one or more inbound messages. Writes for it need its current `fence`. */
export interface Turn {
  readonly number: number;
  readonly session: string;
  readonly conversation: number;
  readonly fence: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The chat of the answer, fixed when the turn is created. */
  readonly target: Source;
  /** The seqs of the inputs in the session. */
  readonly inputs: readonly number[];
  /** The settings of the conversation. */
  readonly settings: ConversationSettings;
  /** A reset that the model or the person was not notified about yet. */
  readonly fresh?: FreshStart;
  /** The saved draft of an earlier attempt, after its last stored message. */
  readonly answerDraft?: AnswerDraft;
  /** The draft delivery that an earlier attempt showed, or may have shown. */
  readonly draftDelivery?: { readonly delivery: number; readonly shown: DeliveryShown };
}

/** One step of an agent's plan. */
export interface PlanEntry {
  readonly text: string;
  readonly state: "pending" | "in_progress" | "completed";
}

/** The output of an agent since its last complete message. */
export interface AnswerDraft {
  readonly text: string;
  readonly thought: string;
  readonly plan?: readonly PlanEntry[];
}

/** The saved draft of a running turn's next message. */
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
 * An inbound line that needs no turn: a command, a button press or a message of an unknown sender. It is stored before it is
 * acknowledged, and acts once even if the platform delivers it several times.
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

/** An unanswered command whose runner ended. It may have taken effect. */
export interface OrphanedCommand {
  readonly inbox: number;
  readonly source: Source;
  readonly messageId: string;
  readonly line: string;
}

/** A person edited or deleted a message. Only a pending message changes; otherwise the edit is only recorded. */
export interface InboundEdit {
  readonly profile: string;
  readonly source: Pick<Source, "platform" | "chatId">;
  readonly messageId: string;
  /** Absent for a deletion. */
  readonly message?: NewMessage;
  readonly blobs?: readonly Blob[];
  readonly cursor?: PlatformCursor;
  readonly now: number;
}

/** `late`: its turn has started. `unknown`: there is no such message. */
export type InboundEditOutcome = "changed" | "late" | "unknown";

export interface BeginDraft {
  readonly turn: number;
  readonly fence: number;
  readonly target: Source;
  readonly replyTo?: string;
  readonly now: number;
}

/** The outcome of showing a draft. A draft that certainly did not arrive is deleted. */
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
  /** Notifications about a reset that this turn gave. */
  readonly notified?: ResetNotification;
  /** Claims the session's next pending input in the same commit. */
  readonly next?: ClaimBy;
  readonly now: number;
}

export interface Finished {
  readonly seqs: readonly number[];
  /** The stored deliveries, in the order of the input. */
  readonly deliveries: readonly Delivery[];
  readonly next?: Turn;
}

export interface ResetNotification {
  readonly note?: boolean;
  readonly notice?: boolean;
}
