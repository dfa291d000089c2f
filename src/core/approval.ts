import type { PersonId } from "./owner.ts";
import type { Source } from "./source.ts";

/** An action that an agent may run only after a person allowed it. */
export interface ApprovalRequest {
  /** The action in one sentence for the person. */
  readonly title: string;
  /** The complete command or file path. */
  readonly detail?: string;
  /** The pattern that a stored answer applies to: `session` and `always` allow it, `never` denies it. */
  readonly pattern?: string;
  /** The real path of the folder in which `session` and `always` allow the pattern. Absent if no folder is involved. */
  readonly folder?: string;
  /** A yes cannot be stored, because the next call may run in another folder. */
  readonly onlyOnce?: true;
}

/** Whether a yes can be stored as a rule. */
export function canBeKept({ pattern, onlyOnce }: ApprovalRequest): boolean {
  return pattern !== undefined && onlyOnce !== true;
}

/** `never` also denies all later requests with the same pattern. */
export type ApprovalAnswer = "once" | "session" | "always" | "deny" | "never";

/** The agent's result: `expired` if nobody answered in time, `unasked` if there is nobody to ask. Both deny the action. */
export type ApprovalOutcome = ApprovalAnswer | "expired" | "unasked";

export function isYes(outcome: ApprovalOutcome): boolean {
  return outcome === "once" || outcome === "session" || outcome === "always";
}

/** A stored approval request. It survives a restart and is answered once. */
export interface Approval {
  readonly number: number;
  readonly session: string;
  readonly conversation: number;
  /** The approver. */
  readonly person: PersonId;
  readonly target: Source;
  readonly request: ApprovalRequest;
  readonly askedAt: number;
  readonly deadline: number;
  /** `expired` denies the action. */
  readonly answer?: ApprovalAnswer | "expired";
  readonly answeredAt?: number;
  /** A delivery with this request was stored. */
  readonly isPosted?: true;
}

/** A stored answer for a pattern, for one session or for all. `never` applies to every folder. */
export interface ApprovalRule {
  readonly pattern: string;
  /** The only folder in which it is allowed. */
  readonly folder?: string;
  readonly kind: "allowed" | "never";
  readonly session?: string;
  readonly at: number;
}
