import type { ConversationDetails } from "./diagnostics.ts";
import type { Message, Role } from "./message.ts";
import type { Asker } from "./owner.ts";
import type { Session, SessionKind } from "./session.ts";

export interface ListQuery {
  readonly asker: Asker;
  /** Keeps sessions whose last activity is at or after this instant. */
  readonly activeSince?: number;
  readonly platform?: string;
  readonly owner?: string;
  readonly kinds?: readonly SessionKind[];
  /** Default false. */
  readonly archived?: boolean | "both";
  readonly titled?: boolean;
  /** True: only sessions with messages, a title or a parent. False: only the others. */
  readonly used?: boolean;
  readonly cwd?: string;
  readonly limit?: number;
  /** From the previous page. A keyset cursor: rows added meanwhile neither repeat nor hide others. */
  readonly cursor?: string;
}

export interface ListedSession extends Session {
  /** The first words of the first human message. */
  readonly preview: string;
  /** Its own messages and the inherited ones that it shows from the session it was forked from. */
  readonly totalCount: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

export interface ConversationQuery {
  readonly asker: Asker;
  readonly platform?: string;
  readonly limit?: number;
  /** From the previous page. */
  readonly cursor?: string;
}

/** A conversation and its current session. */
export interface CurrentConversation {
  readonly conversation: ConversationDetails;
  readonly session: Session;
}

export interface SearchRequest {
  readonly asker: Asker;
  readonly text: string;
  readonly session?: string;
  readonly platforms?: readonly string[];
  readonly kinds?: readonly SessionKind[];
  readonly roles?: readonly Role[];
  /** Also searches undone messages. */
  readonly undone?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}

export interface SearchNeighbour {
  readonly role: Role;
  readonly text: string;
}

export interface Hit {
  readonly session: string;
  readonly handle: string;
  readonly title?: string;
  readonly platform?: string;
  readonly seq: number;
  readonly at: number;
  readonly role: Role;
  /** Matches are between `>>>` and `<<<`. */
  readonly snippet: string;
  /** The previous and next message in the same session. */
  readonly before?: SearchNeighbour;
  readonly after?: SearchNeighbour;
}

/** A range of a session's messages. */
export interface MessageQuery {
  readonly asker: Asker;
  readonly session: string;
  readonly limit?: number;
}

export interface MessageRangeQuery extends MessageQuery {
  /** Only messages after this seq. */
  readonly after?: number;
}

export interface HistoryQuery extends MessageQuery {
  /** Skips this many messages of the view. */
  readonly offset?: number;
}

export interface ViewVersion {
  readonly version: number;
  readonly kind: string;
  readonly at: number;
  readonly length: number;
}

export interface Stats {
  readonly sessions: number;
  readonly messages: number;
  readonly byPlatform: Readonly<Record<string, number>>;
  readonly byKind: Readonly<Record<string, number>>;
  readonly byOwner: Readonly<Record<string, number>>;
  readonly bytes: number;
}

export type { Message };
