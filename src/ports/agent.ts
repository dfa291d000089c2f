import type { Message } from "../core/message.ts";
import type { UsageDelta } from "../core/usage.ts";

/** The brain behind a conversation. */
export interface Agent {
  /** What people call it. */
  readonly name: string;
  /** Whether it can be asked for a title: one that only repeats cannot. */
  readonly titles?: boolean;
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
  /** What the model is told about where it speaks and with whom. */
  readonly prompt?: string;
  /** Told to the model, once, and never stored: that the conversation has just started afresh. */
  readonly note?: string;
  /** The bytes that parts of the history name. */
  blob(hash: string): Promise<Uint8Array | undefined>;
}

export type AgentEvent =
  /** More of the answer. */
  | { readonly type: "text"; readonly text: string }
  /** More of what the model thinks before it answers. */
  | { readonly type: "thought"; readonly text: string }
  | { readonly type: "usage"; readonly usage: UsageDelta }
  /** No answer, or not all of it; the sentence is for the person who waits. */
  | { readonly type: "failed"; readonly reason: string };
