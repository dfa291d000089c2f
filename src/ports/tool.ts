import type { ApprovalRequest } from "../core/approval.ts";
import type { Part } from "../core/message.ts";
import type { Blob } from "../core/turn.ts";

export type ToolEffect = "none" | "external";

export type ToolAudience = "owner" | "everyone";

/** Something that an agent may do besides talking. */
export interface Tool {
  /** As the model calls it: letters, digits, `_` and `-`, 64 at most. */
  readonly name: string;
  /** What it is for, told to the model. */
  readonly description: string;
  /** A JSON schema of an object: what it takes. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether it changes something outside: after a crash it is not simply done again. */
  readonly effect: ToolEffect;
  /** For tools of plugins and applications: `owner`, the default, offers it in the owner's direct chats only. */
  readonly audience?: ToolAudience;
  /** The same for one call, where a tool does now this, now that. */
  getEffect?(given: unknown): ToolEffect;
  /** What the person is asked before it acts; nothing where they need not be. */
  buildApprovalRequest?(given: unknown): ApprovalRequest | undefined | Promise<ApprovalRequest | undefined>;
  /** Acts. What goes wrong is an output that has failed, never an exception; when the signal aborts, it ends soon. */
  run(given: unknown, call: { readonly id: string; readonly signal: AbortSignal }): Promise<ToolOutput>;
}

export interface ToolOutput {
  readonly parts: readonly Part[];
  /** Bytes that the parts name. */
  readonly blobs?: readonly Blob[];
  readonly failed?: true;
}
