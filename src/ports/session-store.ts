import type { Diagnostics } from "../core/diagnostics.ts";
import type { Insights } from "../core/insights.ts";
import type { ListedSession, ListQuery, Page, Stats } from "../core/listing.ts";
import type { Asker } from "../core/owner.ts";
import type { ForkedSession, NewSession, Session, SessionChange } from "../core/session.ts";
import type { ImportedMessages, ImportedSession } from "../core/transfer.ts";
import type { UsageDelta, UsageEntry, UsagePurpose } from "../core/usage.ts";
import type { Maybe, Now, SessionRequest } from "./store-request.ts";

/** Sessions: their titles, settings, usage and removal. */
export interface SessionStore {
  /** Creates a session without a conversation. Refused if the id exists. */
  create(
    input: { readonly session: NewSession & { readonly owner: string }; readonly profile: string } & Now,
  ): Maybe<Session>;
  /** Creates a session with the current view of another one, or its first `keep` messages. Later changes are separate. */
  fork(
    input: SessionRequest & { readonly newSession: ForkedSession; readonly keep?: number } & Now,
  ): Maybe<Session>;
  /**
   * Sets the title; titles are unique for each owner. Without `title`, clears it; `numbered` appends the next free number of
   * the lineage; `ifUntitled` keeps an existing title. The same commit records `titleUsage`, unless the call is refused.
   */
  setTitle(input: SessionRequest & NewTitle): Maybe<Session>;
  /** Changes the given fields of the session. */
  change(input: SessionRequest & { readonly change: SessionChange } & Now): Maybe<Session>;
  /** Adds the usage to the session, under its purpose. With a fence, refused unless it is the fence of the session's turn. */
  recordUsage(input: RecordUsage): Maybe<Session>;
  /** Deletes the session and overwrites its text. Messages that a fork still shows are kept and move to the fork's owner. */
  remove(input: SessionRequest & Now): Maybe<boolean>;
  /** Removes ended sessions whose last activity is before `before`, oldest first, and returns them. */
  prune(input: Prune): Promise<readonly Session[]>;
  /** Keeps the reset policy from replacing the session until then. Several holds differ by name. */
  hold(input: SessionRequest & { readonly name: string; readonly until: number }): Maybe<Session>;
  /** Ends a hold. False if there is none with this name. */
  release(input: SessionRequest & { readonly name: string }): Promise<boolean>;
  /**
   * Stores a session with its messages, view and conversations in one commit, with their original times. Refused if the id
   * exists. An existing conversation keeps its session if it was active at the same time or later, or if its readers may not
   * see the imported session.
   */
  importSession(input: ImportedSession & { readonly profile: string }): Maybe<Session>;
  /** Appends more messages to an imported session. Refused unless the session has exactly `after` messages. */
  importMessages(input: ImportedMessages & { readonly profile: string }): Maybe<Session>;
  /** The session with exactly this id. `undefined` for somebody else's session as for none. */
  getSession(input: SessionRequest): Promise<Session | undefined>;
  /** The session with this id or handle; otherwise up to 10 sessions whose id starts with the text. */
  find(input: { readonly asker: Asker; readonly text: string }): Promise<readonly Session[]>;
  findByTitle(input: { readonly asker: Asker; readonly title: string }): Promise<Session | undefined>;
  /** The details that explain the state of a session. */
  getDiagnostics(input: SessionRequest): Promise<Diagnostics | undefined>;
  querySessions(input: ListQuery): Promise<Page<ListedSession>>;
  /** Whether the asker may see a session besides this one. */
  hasOther(input: SessionRequest): Promise<boolean>;
  getStats(input: { readonly asker: Asker }): Promise<Stats>;
  getInsights(input: {
    readonly asker: Asker;
    readonly since: number;
    readonly platform?: string;
    /** The time zone of the days that usage is grouped by. Default UTC. */
    readonly zone?: string;
  }): Promise<Insights>;
  /** The usage of the session by time, purpose and model, oldest first. Its counters are the sum of these. */
  listUsageEntries(input: SessionRequest): Promise<readonly UsageEntry[] | undefined>;
}

export interface NewTitle {
  readonly title?: string;
  readonly numbered?: boolean;
  readonly ifUntitled?: boolean;
  /** The usage of the model that proposed the title. */
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
  /** Returns the sessions without removing them. */
  readonly dryRun: boolean;
  readonly limit?: number;
  readonly now: number;
}
