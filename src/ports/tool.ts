import type { ApprovalRequest } from "../core/approval.ts";
import type { Part } from "../core/message.ts";

/** Something that an agent may do besides talking. */
export interface Tool {
  /** As the model calls it: letters, digits, `_` and `-`, 64 at most. */
  readonly name: string;
  /** What it is for, told to the model. */
  readonly description: string;
  /** A JSON schema of an object: what it takes. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether it changes something outside: after a crash it is not simply done again. */
  readonly effect: "none" | "external";
  /** What the person is asked before it acts; nothing where they need not be. */
  asks?(given: unknown): ApprovalRequest | undefined;
  /** Acts. What goes wrong is an output that has failed, never an exception; when the signal aborts, it ends soon. */
  run(given: unknown, call: { readonly id: string; readonly signal: AbortSignal }): Promise<ToolOutput>;
}

export interface ToolOutput {
  readonly parts: readonly Part[];
  readonly failed?: true;
}
