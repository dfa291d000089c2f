import type { ApprovalRequest } from "../core/approval.ts";
import type { Part } from "../core/message.ts";
import type { Blob } from "../core/turn.ts";

export type ToolEffect = "none" | "external";

export type ToolAudience = "owner" | "everyone";

/** A function that an agent can call. */
export interface Tool {
  /** The name that the model uses: up to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** Explains the tool to the model. */
  readonly description: string;
  /** The JSON schema of the arguments, an object. */
  readonly input: Readonly<Record<string, unknown>>;
  /** `external` if it changes something outside of Postrider: such a call is not repeated after a crash. */
  readonly effect: ToolEffect;
  /** For tools of plugins and applications: `owner`, the default, offers it in the owner's direct chats only. */
  readonly audience?: ToolAudience;
  /** The effect of one call, if it depends on the arguments. */
  getEffect?(args: unknown): ToolEffect;
  /** The approval that this call needs, if any. */
  buildApprovalRequest?(args: unknown): ApprovalRequest | undefined | Promise<ApprovalRequest | undefined>;
  /** Runs the call. A failure is an output with `failed`, never an exception. Ends soon after the signal aborts. */
  run(args: unknown, call: { readonly id: string; readonly signal: AbortSignal }): Promise<ToolOutput>;
}

export interface ToolOutput {
  readonly parts: readonly Part[];
  /** Bytes that the parts refer to. */
  readonly blobs?: readonly Blob[];
  readonly failed?: true;
}
