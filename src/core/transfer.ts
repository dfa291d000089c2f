import type { ScopeRules } from "./identity.ts";
import type { NewMessage } from "./message.ts";
import type { NewSession } from "./session.ts";
import type { Source } from "./source.ts";
import type { Blob } from "./turn.ts";
import type { Usage, UsageEntry } from "./usage.ts";
import type { SeqRange } from "./view.ts";

/** A whole session on its way in: its messages get the seqs 1, 2, 3…, in order. */
export interface ImportedSession {
  /** Without an owner it belongs to whoever speaks in its first conversation, else to the account's person. */
  readonly session: NewSession;
  readonly account?: Pick<Source, "platform" | "userId" | "userIdAlt" | "userName">;
  readonly conversations?: readonly ImportedConversation[];
  readonly audience?: string;
  readonly origin?: Source;
  /** Where it was spoken to from, when no more of that is known. */
  readonly platform?: string;
  readonly displayName?: string;
  readonly usage: Usage;
  /** The parts of `usage`, and they must add up to it. Without them all of it counts as answers of the last message's time. */
  readonly usageEntries?: readonly UsageEntry[];
  readonly createdAt: number;
  readonly endedAt?: number;
  readonly endReason?: string;
  readonly archivedAt?: number;
  readonly parent?: string;
  readonly messages: readonly (NewMessage & { readonly at: number })[];
  readonly blobs: readonly Blob[];
  /** What it shows, as ranges of its seqs, in order. */
  readonly shows: readonly SeqRange[];
  readonly hidden: readonly SeqRange[];
  readonly now: number;
}

/** A chat that goes on in the imported session. */
export interface ImportedConversation {
  readonly source: Source;
  readonly scope: ScopeRules;
  /** When people last spoke there. */
  readonly activeAt: number;
}

/** What an imported session has got since then at the place it came from. */
export interface ImportedMessages {
  readonly session: string;
  /** How many messages it has here; these follow them. */
  readonly after: number;
  readonly messages: readonly (NewMessage & { readonly at: number })[];
  readonly blobs: readonly Blob[];
  /** The counters there, instead of those here. */
  readonly usage?: Usage;
  /** For a session that has none. */
  readonly title?: string;
  readonly conversations?: readonly ImportedConversation[];
  readonly now: number;
}
