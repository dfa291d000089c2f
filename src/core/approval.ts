import type { PersonId } from "./owner.ts";
import type { Source } from "./source.ts";

/** What an agent wants to do and may not without being told so. */
export interface ApprovalRequest {
  /** What would be done, in words a person understands. */
  readonly title: string;
  /** The whole of it: the command, the file. */
  readonly detail?: string;
  /** What `session` and `always` allow, too. */
  readonly pattern?: string;
}

/** `never` is a no to everything of its pattern from now on. */
export type ApprovalAnswer = "once" | "session" | "always" | "deny" | "never";

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
}
