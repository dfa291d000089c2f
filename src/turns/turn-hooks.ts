import type { ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import type { NewDelivery } from "../core/delivery.ts";
import type { PostriderError } from "../core/errors.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { AnswerDraft, ClaimBy, Finished, Turn, TurnOutcome } from "../core/turn.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { AgentAnswer } from "./answer-recorder.ts";
import type { FindSpeaker } from "./speakers.ts";

/** The process that runs a turn: its store and agent, and how long the turn may run. */
export interface TurnContext {
  readonly store: Store;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Stops the answer. */
  readonly signal: AbortSignal;
  /** An answer that takes longer fails. */
  readonly timeoutMs?: number | undefined;
  /** Who claims the next pending message, in the commit that ends this turn; `undefined`: nobody. */
  claimNext(): ClaimBy | undefined;
  /** Whether another runner continues a stopped turn, as after a crash of this one. */
  isHandedOver?(): boolean;
}

/** The hooks of the chat that asked. Each is optional: a turn without hooks is answered and stored. */
export interface TurnHooks {
  /** Whether every event is stored before `onEvent` gets it, so that a crash takes back nothing that was shown. */
  readonly writeAhead?: boolean;
  /** Whether the chat shows the notice of a new session with this turn. */
  readonly showsNotice?: boolean;
  /** When a long conversation is compressed. Absent: never. */
  readonly compression?: CompressionSettings;
  /** Names the sender of a message to the model, where several people share the conversation. */
  readonly findSpeaker?: FindSpeaker;
  /** Reads the session's messages, where the chat has them cached. */
  readHistory?(): Promise<readonly Message[]>;
  /** Called before the agent runs. Returns the prompt and the tools. */
  prepare?(): Promise<PreparedTurn>;
  /** Asks the person until the signal aborts. Absent: every request is denied. */
  approve?(request: ApprovalRequest, signal: AbortSignal, call?: ToolCall): Promise<ApprovalOutcome>;
  /** Builds the deliveries that are stored in the commit that ends the turn. */
  buildDeliveries?(answer: AgentAnswer): Promise<readonly NewDelivery[]>;
  /** Called before the first event, with the messages to answer. */
  onStart?(inputs: readonly Message[]): void;
  /** Called with the whole text so far. A chat that shows the text calls `saveDraft` first. */
  onEvent?(event: AgentEvent, text: string, saveDraft: SaveDraft): void;
  /** This part of an unfinished message is stored. */
  onDraftSaved?(draft: AnswerDraft): void;
  /** Messages of the answer are stored, with these seqs. */
  onStored?(seqs: readonly number[]): void;
  /** The disk is full or the file is locked. With this hook the turn retries, without it the turn fails. */
  onStoreDelayed?(error: PostriderError): void;
  /** The end is stored; `undefined`: storing it failed. */
  onEnd?(end: TurnEnd | undefined): void;
}

/** A claimed turn with everything that its run needs. */
export interface TurnJob {
  readonly turn: Turn;
  readonly context: TurnContext;
  readonly hooks: TurnHooks;
}

/** Stores the text so far, so that a crash does not take back the text that is shown next. */
export type SaveDraft = () => Promise<void>;

export interface CompressionSettings {
  /** The share of the model's window. */
  readonly at: number;
  notify(notice: string): Promise<void>;
}

/** The prompt and the tools of one turn. */
export interface PreparedTurn
  extends Pick<AgentTurn, "cwd" | "tools" | "terminal" | "prompt" | "volatilePrompt"> {
  /** For the model, once, besides the note of a new session. */
  readonly note?: string;
}

export interface TurnEnd extends Finished {
  readonly outcome: TurnOutcome;
  readonly text: string;
  /** Why it failed, for the person. */
  readonly reason?: string;
}
