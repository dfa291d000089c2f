import type { ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import type { Reasoning } from "../core/conversation.ts";
import type { Message, Part, ToolCall } from "../core/message.ts";
import type { Blob, PlanEntry } from "../core/turn.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Terminal } from "./terminal.ts";
import type { Tool } from "./tool.ts";

/** Answers the messages of a session: a model, an external agent or a script. */
export interface Agent {
  /** The name that people see. */
  readonly name: string;
  /** Whether it can propose titles. An agent that only echoes its input cannot. */
  readonly canTitle?: boolean;
  /** The size of the context window in tokens. Without it, long sessions are not compressed automatically. */
  readonly contextWindow?: number;
  /** The context window of a model that a chat chose, for agents with several models. */
  getContextWindow?(model: string): number;
  /** Models to offer in a chat; other names are accepted too. Called often, so the agent caches the list. */
  models?(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Streams the answer to the last message of the history. The stream ends soon after the signal aborts. A failure of the
   * model is a `failed` event, never an exception.
   */
  run(turn: AgentTurn, signal: AbortSignal): AsyncIterable<AgentEvent>;
}

export interface AgentTurn {
  readonly session: string;
  /** The messages that the session shows, in a form that every provider accepts. The input to answer is last. */
  readonly history: readonly Message[];
  /** The system prompt: the chat and its people. The same in every turn, so that providers can cache it. */
  readonly prompt?: string;
  /** Follows the system prompt because it changes between turns: the date and the memory. */
  readonly volatilePrompt?: string;
  /** A note for this turn only, never stored: the conversation was reset. */
  readonly note?: string;
  /** The model that the chat chose, by the provider's name. Default: the agent's own. */
  readonly model?: string;
  /** The reasoning effort. Default: the provider's. */
  readonly reasoning?: Reasoning;
  /** The folder that the session works in. */
  readonly cwd?: string;
  /** The tools of Postrider, besides the agent's own. The list may change within a turn: read it before each request. */
  readonly tools?: readonly Tool[];
  /** Runs the commands. Default: a local process. */
  readonly terminal?: Terminal;
  /** Reads the bytes that a part of the history refers to. */
  blob(hash: string): Promise<Uint8Array | undefined>;
}

/** Identifies one response of a model. Several consecutive messages may belong to it. */
export interface ModelResponse {
  readonly provider: string;
  readonly model: string;
  /** Differs from the id of the neighbouring responses in the session. */
  readonly response: string;
}

export type AgentEvent =
  /** More of the answer. */
  | { readonly type: "text"; readonly text: string }
  /** More of the model's reasoning. */
  | { readonly type: "thought"; readonly text: string }
  | { readonly type: "usage"; readonly usage: UsageDelta }
  /**
   * A tool is about to run. It runs only when the consumer requests the next event, so that the call can be stored first and
   * is not repeated after a crash.
   */
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | {
      readonly type: "tool_result";
      readonly id: string;
      readonly name: string;
      readonly parts: readonly Part[];
      /** Bytes that the parts refer to. */
      readonly blobs?: readonly Blob[];
      readonly failed?: true;
    }
  | { readonly type: "plan"; readonly entries: readonly PlanEntry[] }
  /** A request for approval. The agent continues after `answer` was called. */
  | {
      readonly type: "approval";
      readonly request: ApprovalRequest;
      /** The tool call that needs the approval, if any. It runs or fails after the answer. */
      readonly call?: ToolCall;
      readonly answer: (answer: ApprovalOutcome) => void;
    }
  /**
   * Opaque data that the provider needs back in later requests. It is stored with the current or next message and never
   * shown.
   */
  | {
      readonly type: "model_part";
      readonly from: ModelResponse;
      readonly part: Readonly<Record<string, unknown>>;
    }
  /** The text so far is one complete message. The following text starts another one. */
  | { readonly type: "message" }
  /**
   * The answer is missing or incomplete; `reason` is a sentence for the person. `tooLong`: the history exceeds the context
   * window, so a retry helps only after compression. `empty`: the model finished without text and without a tool call.
   */
  | { readonly type: "failed"; readonly reason: string; readonly tooLong?: true; readonly empty?: true };
