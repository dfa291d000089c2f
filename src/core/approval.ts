import type { PersonId } from "./owner.ts";
import type { Source } from "./source.ts";

/** What an agent wants to do and may not without being told so. */
export interface ApprovalRequest {
  /** What would be done, in words a person understands. */
  readonly title: string;
  /** The whole of it: the command, the file. */
  readonly detail?: string;
  /** What `session` and `always` allow, and `never` refuses, from then on. */
  readonly pattern?: string;
  /** The real path of the folder in which `session` and `always` allow the pattern; absent for what has no folder. */
  readonly folder?: string;
  /** A yes holds this once, because nobody can know where it would run the next time. */
  readonly onlyOnce?: true;
}

/** Whether a yes to this can hold for more than this once. */
export function canBeKept({ pattern, onlyOnce }: ApprovalRequest): boolean {
  return pattern !== undefined && onlyOnce !== true;
}

/** `never` is a no to everything of its pattern from now on. */
export type ApprovalAnswer = "once" | "session" | "always" | "deny" | "never";

/** What an agent hears: `expired` when nobody answered in time, `unasked` where there is nobody to ask. Both are a no. */
export type ApprovalOutcome = ApprovalAnswer | "expired" | "unasked";

export function isYes(outcome: ApprovalOutcome): boolean {
  return outcome === "once" || outcome === "session" || outcome === "always";
}

/** A question that is a row: it survives a restart, and is answered once. */
export interface Approval {
  readonly number: number;
  readonly session: string;
  readonly conversation: number;
  /** Who may answer. */
  readonly person: PersonId;
  readonly target: Source;
  readonly request: ApprovalRequest;
  readonly askedAt: number;
  readonly deadline: number;
  /** `expired` counts as denied. */
  readonly answer?: ApprovalAnswer | "expired";
  readonly answeredAt?: number;
  /** It stands in the chat, or is on its way there. */
  readonly isPosted?: true;
}

/** What a person has said once for all of a pattern: in one session, or everywhere. A never holds in every folder. */
export interface ApprovalRule {
  readonly pattern: string;
  /** It is allowed in this folder only. */
  readonly folder?: string;
  readonly kind: "allowed" | "never";
  readonly session?: string;
  readonly at: number;
}
