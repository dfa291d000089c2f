import type { ScopeRules } from "./identity.ts";
import type { NewMessage } from "./message.ts";
import type { NewSession } from "./session.ts";
import type { Source } from "./source.ts";
import type { Blob } from "./turn.ts";
import type { Usage, UsageEntry } from "./usage.ts";
import type { SeqRange } from "./view.ts";

/** A session to import. Its messages get the seqs 1, 2, 3… in order. */
export interface ImportedSession {
  /** Without an owner, it belongs to the person of its first conversation, otherwise to the account's person. */
  readonly session: NewSession;
  readonly account?: Pick<Source, "platform" | "userId" | "userIdAlt" | "userName">;
  readonly conversations?: readonly ImportedConversation[];
  readonly audience?: string;
  readonly origin?: Source;
  /** The platform of its messages, if the source is not known in more detail. */
  readonly platform?: string;
  readonly displayName?: string;
  readonly usage: Usage;
  /** Must add up to `usage`. Without them, all usage counts as answers at the time of the last message. */
  readonly usageEntries?: readonly UsageEntry[];
  readonly createdAt: number;
  readonly endedAt?: number;
  readonly endReason?: string;
  readonly archivedAt?: number;
  readonly parent?: string;
  readonly messages: readonly (NewMessage & { readonly at: number })[];
  readonly blobs: readonly Blob[];
  /** The view, as ranges of seqs in order. */
  readonly shows: readonly SeqRange[];
  readonly hidden: readonly SeqRange[];
  readonly now: number;
}

/** A chat that continues in the imported session. */
export interface ImportedConversation {
  readonly source: Source;
  readonly scope: ScopeRules;
  /** The time of the last activity. */
  readonly activeAt: number;
}

/** New messages of an imported session, from the system it came from. */
export interface ImportedMessages {
  readonly session: string;
  /** The number of messages that the session has here. The new ones follow them. */
  readonly after: number;
  readonly messages: readonly (NewMessage & { readonly at: number })[];
  readonly blobs: readonly Blob[];
  /** Replaces the session's counters. */
  readonly usage?: Usage;
  /** Used if the session has no title. */
  readonly title?: string;
  readonly conversations?: readonly ImportedConversation[];
  readonly now: number;
}
