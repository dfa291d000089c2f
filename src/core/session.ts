import { PostriderError } from "./errors.ts";
import type { Ownership, PersonId } from "./owner.ts";
import { toOneLine } from "./printable.ts";
import type { Source } from "./source.ts";
import type { Usage } from "./usage.ts";

export type SessionKind = "chat" | "editor" | "job" | "webhook" | "background";

export const SESSION_KINDS: readonly SessionKind[] = ["chat", "editor", "job", "webhook", "background"];

/** A history of messages with an owner, a title, a handle, counters and a view. Its id never changes. */
export interface Session extends Ownership {
  readonly id: string;
  /** A short, stable name for commands, such as `k7f`. */
  readonly handle: string;
  readonly kind: SessionKind;
  readonly profile: string;
  readonly title?: string;
  /** The source of its last message. */
  readonly origin?: Source;
  readonly displayName?: string;
  readonly cwd?: string;
  /** Opaque to Postrider: the agent's own configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Stored fields that cannot be read. They are absent above. */
  readonly damaged?: readonly ("origin" | "config")[];
  readonly usage: Usage;
  /** All messages, shown or not. */
  readonly messageCount: number;
  readonly humanCount: number;
  readonly toolCallCount: number;
  readonly createdAt: number;
  /** The time of the newest message, or of the creation. */
  readonly lastAt: number;
  readonly endedAt?: number;
  readonly endReason?: EndReason;
  readonly archivedAt?: number;
  /** The session this one was forked from. It may have been removed. */
  readonly parent?: string;
}

/** Why a session ended: no conversation points to it any more, or a reason from a caller. */
export type EndReason = "idle" | "daily" | "new" | "switch" | "merged" | "closed" | (string & {});

/** A reason has a few words. */
const MAX_REASON_LENGTH = 100;

/** Returns the reason on one line. Throws `invalid_input` if it is empty or too long. */
export function checkEndReason(raw: string, field: string): EndReason {
  const reason = toOneLine(raw).trim();
  if (reason !== "" && reason.length <= MAX_REASON_LENGTH) return reason;
  throw new PostriderError(
    "invalid_input",
    `The reason for ending a session must have 1 to ${MAX_REASON_LENGTH} characters; this one has ${reason.length}.`,
    { details: { field } },
  );
}

/** A session to create. The caller provides the id, so that the store needs neither a clock nor randomness. */
export interface NewSession {
  readonly id: string;
  readonly kind: SessionKind;
  readonly owner?: PersonId;
  readonly title?: string;
  readonly cwd?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly baseUrl?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** Absent fields are copied from the original session. */
export type ForkedSession = Omit<NewSession, "kind" | "owner"> & { readonly kind?: SessionKind };

/** Fields that the owner can change. `undefined` keeps a field, `null` clears it. */
export interface SessionChange {
  readonly cwd?: string | null;
  readonly model?: string | null;
  readonly provider?: string | null;
  readonly baseUrl?: string | null;
  readonly config?: Readonly<Record<string, unknown>> | null;
  readonly archived?: boolean;
  /**
   * Ends the session with this reason (`true`: `closed`); an existing reason stays. `false` reopens it, and so does a
   * conversation that switches to it.
   */
  readonly ended?: boolean | EndReason;
}
