import type {
  Conversation,
  Expire,
  Expired,
  IdleConversation,
  Open,
  Opened,
  PolicyDecision,
  SettingsChange,
} from "../core/conversation.ts";
import type { ConversationDetails, Diagnostics, InboundRecord } from "../core/diagnostics.ts";
import type { ScopeRules } from "../core/identity.ts";
import type { Insights } from "../core/insights.ts";
import type {
  ConversationQuery,
  CurrentConversation,
  HistoryQuery,
  Hit,
  ListedSession,
  ListQuery,
  MessageRangeQuery,
  Page,
  SearchRequest,
  Stats,
  ViewVersion,
} from "../core/listing.ts";
import type { Message, NewMessage } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { PersonData, PersonName } from "../core/person.ts";
import type { Refused } from "../core/refusal.ts";
import type { HeldLease, Runner } from "../core/runner.ts";
import type { ForkedSession, NewSession, Session, SessionChange } from "../core/session.ts";
import type { HomeChannel } from "../core/session-context.ts";
import type { Source } from "../core/source.ts";
import type { ImportedMessages, ImportedSession } from "../core/transfer.ts";
import type {
  Accept,
  AcceptCommand,
  Accepted,
  Blob,
  Claim,
  Finish,
  Finished,
  InboundEdit,
  InboundEditOutcome,
  MessageDraft,
  PlatformCursor,
  ResetNotification,
  SaveDraftInput,
  Turn,
} from "../core/turn.ts";
import type { UsageDelta, UsageEntry, UsagePurpose } from "../core/usage.ts";
import type { ViewChange, ViewChangeResult } from "../core/view-change.ts";
import type { AccessReads, AccessSteps } from "./access.ts";
import type { MemoryReads, MemorySteps } from "./memory.ts";
import type { OutboxReads, OutboxSteps } from "./outbox.ts";
import type { ProcessReads, ProcessSteps } from "./processes.ts";

/** A session, and who asks for it. Someone else's session and no session look the same. */
export interface SessionRequest {
  readonly asker: Asker;
  readonly session: string;
}

type Now = { readonly now: number };
type Maybe<T> = Promise<T | Refused>;

/**
 * The steps of the flow. Each is atomic: when its promise resolves, all of it is durable; when it rejects,
 * none of it happened. What a rule forbids is answered by a refusal, never by an exception.
 */
export interface Steps {
  /** One conversation per identity, however many open it at once; a stale one gets a new session. */
  open(input: Open): Promise<Opened>;
  /** The message is an inbox row, once, and the cursor has moved; the turn has begun if the session was free. */
  accept(input: Accept): Promise<Accepted>;
  /** The same for messages that came one after the other: all of them are stored in their order, or none is. */
  acceptMany(input: { readonly messages: readonly Accept[] }): Promise<readonly Accepted[]>;
  /** The platform's stream was read up to here, and nothing before it is left to store. */
  moveCursor(input: { readonly cursor: PlatformCursor } & Now): Promise<void>;
  /**
   * One runner per session. `undefined` while another lives and holds it, or when nothing waits. What came from an editor
   * (platform `acp`) is left to the runner that accepted it, for as long as that one lives: it alone can reach the editor.
   */
  claim(input: Claim): Promise<Turn | undefined>;
  /** The messages follow each other at the end of the session. With a fence, only the turn's holder may. */
  append(input: Append): Maybe<{ readonly seqs: readonly number[] }>;
  /** What is said of an answer before its message is whole. Only the turn's holder may; the next message replaces it. */
  saveDraft(input: SaveDraftInput): Maybe<{ readonly kept: true }>;
  /** Messages, usage, deliveries and inbox are stored, the lease is free, the next work found: all or nothing. */
  finish(input: Finish): Maybe<Finished>;
  /** A line that waits for no turn is stored, once, and the cursor has moved. Nothing else is touched. */
  acceptCommand(input: AcceptCommand): Promise<{ readonly duplicate: boolean; readonly inbox: number }>;
  /** What still waits is changed or gone; what does not, stays, and the change is recorded. The cursor has moved. */
  editInbound(input: InboundEdit): Promise<InboundEditOutcome>;
  /** Waiting messages of a conversation will not run. Returns them. */
  cancelPending(input: { readonly conversation: number } & Now): Promise<readonly NewMessage[]>;
  /** The note or notice about a fresh start was given: never again. */
  markResetNotified(input: {
    readonly conversation: number;
    readonly notified: ResetNotification;
  }): Promise<void>;
  /** The policy's word on a conversation in which nobody speaks. Work that runs or waits there keeps it. */
  expireConversation(input: Expire): Promise<Expired>;
  /** Activity that was stored under a clock that was ahead counts as of now. */
  clampActivity(input: Now): Promise<void>;
  /**
   * Settled deliveries, done inbox rows, ended turns, used codes, answered questions and done flushes from before `before`
   * are gone; so are processes that ended longer than `OUTPUT_KEPT_MS` ago, with their output.
   */
  purgeFinished(
    input: { readonly before: number; readonly limit: number } & Now,
  ): Promise<{ readonly more: boolean }>;
}

/** What a person does to sessions. */
export interface SessionSteps {
  /** A session of its own, addressed by id. The same id twice is refused. */
  create(
    input: { readonly session: NewSession & { readonly owner: string }; readonly profile: string } & Now,
  ): Maybe<Session>;
  /** The conversation points at a new session; the old one stays resumable. */
  reset(
    input: { readonly asker: Asker; readonly conversation: number; readonly newSession: NewSession } & Now,
  ): Maybe<Opened>;
  /** The conversation points at this session. Refused unless everyone who would then read it may see it. */
  switchTo(input: SessionRequest & { readonly conversation: number } & Now): Maybe<Opened>;
  /**
   * The conversation of this source points at this session, and is made if there is none. Refused as `switchTo` is. The
   * session's origin stays what it was.
   */
  attach(input: SessionRequest & Attach): Maybe<Opened>;
  changeView(input: ViewChange): Maybe<ViewChangeResult>;
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
  /** For this conversation only. */
  changeConversationSettings(
    input: { readonly asker: Asker; readonly conversation: number; readonly change: SettingsChange } & Now,
  ): Maybe<Conversation>;
  /** Where on a platform goes what has no other place to go. */
  setHomeChannel(input: { readonly home: HomeChannel } & Now): Promise<void>;
  /** The platform has no such place any more. False if it had none. */
  removeHomeChannel(input: { readonly platform: string }): Promise<boolean>;
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
  /**
   * A bounded part of a person is gone: own sessions whole, also where forks of others show them; what they said
   * elsewhere, and the answers to it, has no words any more but keeps its place. Called again, with the `after` that
   * it gave, until `done`: then nothing names them. Cut short and begun anew, it comes to the same.
   */
  erasePerson(input: ErasePerson): Maybe<ErasureProgress>;
  /** The messages follow what was imported before, as if imported with it. Refused unless it has `after` messages. */
  importMessages(input: ImportedMessages & { readonly profile: string }): Maybe<Session>;
}

/** What may exist once, and who is alive. */
export interface RunnerSteps {
  recordHeartbeat(input: { readonly runner: Runner } & Now): Promise<void>;
  retire(input: { readonly runner: string }): Promise<void>;
  /** A rising number for the holder; `undefined` while another live runner holds it. */
  acquireLease(
    input: {
      readonly name: string;
      readonly runner: string;
      readonly ttlMs: number;
      readonly about?: string;
    } & Now,
  ): Promise<number | undefined>;
  releaseLease(input: { readonly name: string; readonly runner: string }): Promise<boolean>;
}

/** The read side: never waits for a writer. */
export interface Reads {
  /** Exact id or handle first; else every session whose id begins so (10 at most). */
  find(input: { readonly asker: Asker; readonly text: string }): Promise<readonly Session[]>;
  findByTitle(input: { readonly asker: Asker; readonly title: string }): Promise<Session | undefined>;
  /** The conversations of this source's chat that the asker may know of, without touching any. */
  findConversations(input: {
    readonly asker: Asker;
    readonly source?: Source;
    readonly session?: string;
  }): Promise<readonly Conversation[]>;
  /** Every conversation that the asker may know of, with its current session, in order of number. */
  listConversations(input: ConversationQuery): Promise<Page<CurrentConversation>>;
  /** What the session shows, in order. */
  readHistory(input: HistoryQuery): Promise<readonly Message[] | undefined>;
  /** Everything ever said in it. */
  listMessages(input: MessageRangeQuery): Promise<readonly Message[] | undefined>;
  /** What it shows, as runs of messages; and which of its own messages are hidden. */
  getViewRanges(input: SessionRequest): Promise<ViewRanges | undefined>;
  listVersions(input: SessionRequest): Promise<readonly ViewVersion[]>;
  /** What was accepted for the session and waits for its turn, in order. */
  listPending(input: SessionRequest): Promise<readonly NewMessage[]>;
  /** What `keepSaid` has kept of the message that is being written in the session; nothing between two messages. */
  getDraft(input: SessionRequest): Promise<MessageDraft | undefined>;
  listDecisions(input: {
    readonly asker: Asker;
    readonly conversation: number;
  }): Promise<readonly PolicyDecision[]>;
  /** What is around a session, for people who ask why it is as it is. */
  getDiagnostics(input: SessionRequest): Promise<Diagnostics | undefined>;
  /** Every conversation that the asker may know of and whose key may be written so. */
  findConversationsByKey(input: {
    readonly asker: Asker;
    readonly key: string;
  }): Promise<readonly ConversationDetails[]>;
  /** How a message came in, by its place in a session or by its id on the platform; each profile has its own. */
  findInbound(input: InboundQuery): Promise<readonly InboundRecord[]>;
  querySessions(input: ListQuery): Promise<Page<ListedSession>>;
  searchMessages(input: SearchRequest): Promise<readonly Hit[]>;
  /** How many messages such a search leaves out because they still wait for the index; the oldest are left out first. */
  countUnindexed(input: SearchRequest): Promise<number>;
  /** Bytes of a part of a message that the asker may see. */
  readBlob(input: { readonly asker: Asker; readonly hash: string }): Promise<Uint8Array | undefined>;
  hasOther(input: SessionRequest): Promise<boolean>;
  getStats(input: { readonly asker: Asker }): Promise<Stats>;
  /** Sessions with a turn or with waiting input whose runner is gone, or that never had one; and where to answer. */
  listClaimable(input: Now): Promise<readonly { readonly session: string; readonly platform: string }[]>;
  /** Conversations with something said and nobody speaking since `before`, that have not expired; in order of number. */
  listIdle(input: {
    readonly before: number;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly IdleConversation[]>;
  getInsights(input: {
    readonly asker: Asker;
    readonly since: number;
    readonly platform?: string;
    /** The zone whose days usage is summed up by; UTC unless said. */
    readonly zone?: string;
  }): Promise<Insights>;
  /** What the session has used, by time, purpose and model, in order of time. Its counters are the sum. */
  listUsageEntries(input: SessionRequest): Promise<readonly UsageEntry[] | undefined>;
  listHomeChannels(): Promise<readonly HomeChannel[]>;
  /**
   * What may exist once and is held now, by a runner that lives. With `silent`, also what has run out although the process
   * of its holder exists on this machine, marked with `silentSince`.
   */
  listLeases(input: Now & { readonly silent?: boolean }): Promise<readonly HeldLease[]>;
  getCursor(input: { readonly name: string }): Promise<string | undefined>;
  /** Everything of a person but their own sessions; and how much there is in all. */
  readPersonData(input: PersonName): Promise<PersonData | undefined>;
}

export interface Store
  extends Steps,
    OutboxSteps,
    AccessSteps,
    ProcessSteps,
    MemorySteps,
    SessionSteps,
    RunnerSteps,
    Reads,
    OutboxReads,
    AccessReads,
    ProcessReads,
    MemoryReads {
  /** Called after something was committed, here or by another process (within 250 ms). Returns how to stop. */
  onChange(listener: () => void): () => void;
  /** Waits for what is under way, then lets go of everything. */
  close(): Promise<void>;
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

/** Where somebody goes on with a session that is there already. */
export interface Attach {
  readonly source: Source;
  readonly profile: string;
  readonly scope: ScopeRules;
  readonly now: number;
}

export interface Append extends SessionRequest {
  readonly messages: readonly NewMessage[];
  readonly blobs?: readonly Blob[];
  readonly fence?: number;
  /** What the model has used for these messages and was not counted yet: the same commit counts it. */
  readonly usage?: UsageDelta;
  readonly now: number;
}

export type InboundQuery = { readonly asker: Asker } & (
  | { readonly session: string; readonly seq: number }
  | { readonly platform: string; readonly chatId: string; readonly messageId: string }
);

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

export interface ErasePerson {
  readonly person: string;
  /** What the step before has given. */
  readonly after?: number;
  /** How many messages one step may touch. */
  readonly limit: number;
  readonly now: number;
}

export interface ErasureProgress {
  readonly done: boolean;
  readonly after?: number;
}

export interface ViewRanges {
  readonly pieces: readonly { readonly session: string; readonly from: number; readonly to: number }[];
  readonly hidden: readonly { readonly from: number; readonly to: number }[];
}
