import { PostriderError } from "./errors.ts";
import type { Ownership, PersonId } from "./owner.ts";
import { toOneLine } from "./printable.ts";
import type { Source } from "./source.ts";
import type { Usage } from "./usage.ts";

export type SessionKind = "chat" | "editor" | "job" | "webhook" | "background";

export const SESSION_KINDS: readonly SessionKind[] = ["chat", "editor", "job", "webhook", "background"];

/** One history with an owner, a title, a handle, counters and a view. Its id never changes. */
export interface Session extends Ownership {
  readonly id: string;
  /** Short and stable, such as `k7f`: how people name it in commands. */
  readonly handle: string;
  readonly kind: SessionKind;
  readonly profile: string;
  readonly title?: string;
  /** Where it was last spoken to from. */
  readonly origin?: Source;
  readonly displayName?: string;
  readonly cwd?: string;
  /** Opaque to Postrider: what the agent needs to be made again. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** What is stored of it and cannot be read; it is missing above. */
  readonly damaged?: readonly ("origin" | "config")[];
  readonly usage: Usage;
  /** Everything ever said here, shown or not. */
  readonly messageCount: number;
  readonly humanCount: number;
  readonly toolCallCount: number;
  readonly createdAt: number;
  /** The newest message's instant, or the creation's. */
  readonly lastAt: number;
  readonly endedAt?: number;
  readonly endReason?: EndReason;
  readonly archivedAt?: number;
  /** The session this one was forked from; it may be gone. */
  readonly parent?: string;
}

/** Why a session ended: because the last conversation left it, or for a reason that a program gave. */
export type EndReason = "idle" | "daily" | "new" | "switch" | "merged" | "closed" | (string & {});

/** Longer than a few words is not a reason but a text. */
const MAX_REASON_LENGTH = 100;

/** A reason on one line. Throws `invalid_input` for one that is empty or too long. */
export function checkEndReason(raw: string, field: string): EndReason {
  const reason = toOneLine(raw).trim();
  if (reason !== "" && reason.length <= MAX_REASON_LENGTH) return reason;
  throw new PostriderError(
    "invalid_input",
    `The reason for ending a session must have 1 to ${MAX_REASON_LENGTH} characters; this one has ${reason.length}.`,
    { details: { field } },
  );
}

/** A session that does not exist yet: the caller brings the id, so that the store needs no clock or chance. */
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

/** What is not said of a fork is as in its origin. */
export type ForkedSession = Omit<NewSession, "kind" | "owner"> & { readonly kind?: SessionKind };

/** Fields a session's owner may change. `undefined` leaves, `null` clears. */
export interface SessionChange {
  readonly cwd?: string | null;
  readonly model?: string | null;
  readonly provider?: string | null;
  readonly baseUrl?: string | null;
  readonly config?: Readonly<Record<string, unknown>> | null;
  readonly archived?: boolean;
  /**
   * Ends the session, for this reason (`true`: `closed`). The first reason stays. `false`, or pointing a conversation at the
   * session, opens it again.
   */
  readonly ended?: boolean | EndReason;
}
