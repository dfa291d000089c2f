import type { NewMessage } from "./message.ts";
import type { NewSession } from "./session.ts";
import type { Source } from "./source.ts";
import type { Blob } from "./turn.ts";
import type { Usage } from "./usage.ts";
import type { SeqRange } from "./view.ts";

/** A whole session on its way in: its messages get the seqs 1, 2, 3…, in order. */
export interface ImportedSession {
  readonly session: NewSession & { readonly owner: string };
  readonly audience?: string;
  readonly origin?: Source;
  readonly displayName?: string;
  readonly usage: Usage;
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
