import type { Diagnostics } from "../core/diagnostics.ts";
import type { Insights } from "../core/insights.ts";
import type { ListedSession, ListQuery, Page, Stats } from "../core/listing.ts";
import type { Asker } from "../core/owner.ts";
import type { ForkedSession, NewSession, Session, SessionChange } from "../core/session.ts";
import type { ImportedMessages, ImportedSession } from "../core/transfer.ts";
import type { UsageDelta, UsageEntry, UsagePurpose } from "../core/usage.ts";
import type { Maybe, Now, SessionRequest } from "./store-request.ts";

/** Sessions: their titles, settings, use and removal. */
export interface SessionStore {
  /** A session of its own, addressed by id. The same id twice is refused. */
  create(
    input: { readonly session: NewSession & { readonly owner: string }; readonly profile: string } & Now,
  ): Maybe<Session>;
  /** A new session that shows what the other shows now, or its first `keep` messages. */
  fork(
    input: SessionRequest & { readonly newSession: ForkedSession; readonly keep?: number } & Now,
  ): Maybe<Session>;
  /**
   * Titles are unique per owner. `undefined` clears; `numbered` takes the next free number of the lineage; `ifUntitled`
   * leaves a title that is there. What asking for it used is counted in the same commit, unless it is refused.
   */
  setTitle(input: SessionRequest & NewTitle): Maybe<Session>;
  change(input: SessionRequest & { readonly change: SessionChange } & Now): Maybe<Session>;
  /** Counted in the session and under its purpose. With a fence, only the turn's holder may. */
  recordUsage(input: RecordUsage): Maybe<Session>;
  /** Gone, and its words overwritten; only what a fork still shows stays, and belongs to the fork's owner. */
  remove(input: SessionRequest & Now): Maybe<boolean>;
  /** Ended sessions last used before `before`, oldest first. */
  prune(input: Prune): Promise<readonly Session[]>;
  hold(input: SessionRequest & { readonly name: string; readonly until: number }): Maybe<Session>;
  release(input: SessionRequest & { readonly name: string }): Promise<boolean>;
  /**
   * A whole session with its messages, view and conversations, in one commit. An id that is there already is refused.
   * A conversation that was active here at the same time or later stays where it is, and so does one whose readers may
   * not see the session. No other instant moves.
   */
  importSession(input: ImportedSession & { readonly profile: string }): Maybe<Session>;
  /** The messages follow what was imported before, as if imported with it. Refused unless it has `after` messages. */
  importMessages(input: ImportedMessages & { readonly profile: string }): Maybe<Session>;
  /** The session with exactly this id. `undefined` for somebody else's session as for none. */
  getSession(input: SessionRequest): Promise<Session | undefined>;
  /** Exact id or handle first; else every session whose id begins so (10 at most). */
  find(input: { readonly asker: Asker; readonly text: string }): Promise<readonly Session[]>;
  findByTitle(input: { readonly asker: Asker; readonly title: string }): Promise<Session | undefined>;
  /** What is around a session, for people who ask why it is as it is. */
  getDiagnostics(input: SessionRequest): Promise<Diagnostics | undefined>;
  querySessions(input: ListQuery): Promise<Page<ListedSession>>;
  hasOther(input: SessionRequest): Promise<boolean>;
  getStats(input: { readonly asker: Asker }): Promise<Stats>;
  getInsights(input: {
    readonly asker: Asker;
    readonly since: number;
    readonly platform?: string;
    /** The zone whose days usage is summed up by; UTC unless said. */
    readonly zone?: string;
  }): Promise<Insights>;
  /** What the session has used, by time, purpose and model, in order of time. Its counters are the sum. */
  listUsageEntries(input: SessionRequest): Promise<readonly UsageEntry[] | undefined>;
}

export interface NewTitle {
  readonly title?: string;
  readonly numbered?: boolean;
  readonly ifUntitled?: boolean;
  /** What a model used to propose it. */
  readonly titleUsage?: Pick<RecordUsage, "usage" | "now">;
}

export interface RecordUsage extends SessionRequest {
  readonly purpose: UsagePurpose;
  readonly usage: UsageDelta;
  readonly fence?: number;
  readonly now: number;
}

export interface Prune {
  readonly asker: Asker;
  readonly before: number;
  readonly platform?: string;
  readonly kinds?: readonly string[];
  /** Only tells what would go. */
  readonly dryRun: boolean;
  readonly limit?: number;
  readonly now: number;
}
