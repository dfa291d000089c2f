import type { ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import type { Reasoning } from "../core/conversation.ts";
import type { Message, Part, ToolCall } from "../core/message.ts";
import type { PlanEntry } from "../core/plan.ts";
import type { Blob } from "../core/turn.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Terminal } from "./terminal.ts";
import type { Tool } from "./tool.ts";

/** The brain behind a conversation. */
export interface Agent {
  /** What people call it. */
  readonly name: string;
  /** Whether it can be asked for a title: one that only repeats cannot. */
  readonly canTitle?: boolean;
  /** How many tokens it can read at once. Whoever does not say cannot sum up a long conversation. */
  readonly contextWindow?: number;
  /** The same for a model that a chat chose, where the agent has several. */
  getContextWindow?(model: string): number;
  /** Names of models that a chat may choose; any other name is tried, too. It may be asked often, and remembers. */
  models?(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Answers what was said last. The answer arrives piece by piece; when the signal aborts, the stream ends soon. What
   * goes wrong with the model is an event, never an exception.
   */
  run(turn: AgentTurn, signal: AbortSignal): AsyncIterable<AgentEvent>;
}

export interface AgentTurn {
  readonly session: string;
  /** What the session shows, valid for every provider; what is to be answered stands last. */
  readonly history: readonly Message[];
  /** What the model is told about where it speaks and with whom. The same in every turn, so that providers can cache it. */
  readonly prompt?: string;
  /** Told to the model after the prompt because it changes between turns: the date, what it remembers. */
  readonly volatilePrompt?: string;
  /** Told to the model, once, and never stored: that the conversation has just started afresh. */
  readonly note?: string;
  /** Which model this chat chose, as the provider calls it; the agent's own unless said. */
  readonly model?: string;
  /** How long it thinks before it answers; as the provider has it, unless said. */
  readonly reasoning?: Reasoning;
  /** The folder that the session works in. */
  readonly cwd?: string;
  /** What it may call, besides what it can do by itself. The list may change between two rounds: it is read in each. */
  readonly tools?: readonly Tool[];
  /** Where commands run; on this machine, unless the place has somewhere better. */
  readonly terminal?: Terminal;
  /** The bytes that parts of the history name. */
  blob(hash: string): Promise<Uint8Array | undefined>;
}

/** A response of a model. Several messages that are stored one after the other may belong to it. */
export interface ModelResponse {
  readonly provider: string;
  readonly model: string;
  /** Tells it from the responses next to it in the session. */
  readonly response: string;
}

export type AgentEvent =
  /** More of the answer. */
  | { readonly type: "text"; readonly text: string }
  /** More of what the model thinks before it answers. */
  | { readonly type: "thought"; readonly text: string }
  | { readonly type: "usage"; readonly usage: UsageDelta }
  /**
   * A tool is about to act. It does so only when the next event is asked for, so that whoever reads can store first what
   * may not be done twice.
   */
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | {
      readonly type: "tool_result";
      readonly id: string;
      readonly name: string;
      readonly parts: readonly Part[];
      /** Bytes that the parts name. */
      readonly blobs?: readonly Blob[];
      readonly failed?: true;
    }
  | { readonly type: "plan"; readonly entries: readonly PlanEntry[] }
  /** May it? The agent goes on when it has been answered. */
  | {
      readonly type: "approval";
      readonly request: ApprovalRequest;
      /** The call that waits for it, where it is about one; it is made, or has failed, when it has been answered. */
      readonly call?: ToolCall;
      readonly answer: (answer: ApprovalOutcome) => void;
    }
  /**
   * Data that the model's provider wants back, and that only it understands. It belongs to the message that is being written
   * or comes next: stored with it, and shown to nobody.
   */
  | {
      readonly type: "model_part";
      readonly from: ModelResponse;
      readonly part: Readonly<Record<string, unknown>>;
    }
  /** What was said so far is a message by itself; what follows is another. */
  | { readonly type: "message" }
  /**
   * No answer, or not all of it; the sentence is for the person who waits. `tooLong`: the model cannot read all that the
   * session shows, so that asking again helps only after it was summed up. `empty`: it ended in good order, but has neither
   * said nor called anything.
   */
  | { readonly type: "failed"; readonly reason: string; readonly tooLong?: true; readonly empty?: true };
