import type {
  Conversation,
  Expire,
  Expired,
  Open,
  Opened,
  PolicyDecision,
  SettingsChange,
  Silent,
} from "../core/conversation.ts";
import type { ScopeRules } from "../core/identity.ts";
import type { Insights } from "../core/insights.ts";
import type {
  ConversationQuery,
  CurrentConversation,
  Hit,
  Listed,
  ListQuery,
  Page,
  Said,
  SearchRequest,
  Shows,
  Stats,
  Versions,
} from "../core/listing.ts";
import type { Message, NewMessage } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { PersonData, PersonName } from "../core/person.ts";
import type { Refused } from "../core/refusal.ts";
import type { Reshape, Reshaped } from "../core/reshape.ts";
import type { HeldLease, Runner } from "../core/runner.ts";
import type { ForkedSession, NewSession, Session, SessionChange } from "../core/session.ts";
import type { HomeChannel } from "../core/session-context.ts";
import type { Source } from "../core/source.ts";
import type { Arrival, PlacedConversation, Surroundings } from "../core/surroundings.ts";
import type { ImportedMore, ImportedSession } from "../core/transfer.ts";
import type {
  Accept,
  Accepted,
  AcceptLine,
  Afterthought,
  AfterthoughtOutcome,
  Blob,
  Claim,
  Cursor,
  Finish,
  Finished,
  Growing,
  KeepSaid,
  Shown,
  Turn,
} from "../core/turn.ts";
import type { UsageDelta, UsageEntry, UsagePurpose } from "../core/usage.ts";
import type { AccessReads, AccessSteps } from "./access.ts";
import type { MemoryReads, MemorySteps } from "./memory.ts";
import type { OutboxReads, OutboxSteps } from "./outbox.ts";
import type { ProcessReads, ProcessSteps } from "./processes.ts";

/** A session, and who asks for it. Someone else's session and no session look the same. */
export interface Ask {
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
  moveCursor(input: { readonly cursor: Cursor } & Now): Promise<void>;
  /**
   * One runner per session. `undefined` while another lives and holds it, or when nothing waits. What came from an editor
   * (platform `acp`) is left to the runner that accepted it, for as long as that one lives: it alone can reach the editor.
   */
  claim(input: Claim): Promise<Turn | undefined>;
  /** The messages follow each other at the end of the session. With a fence, only the turn's holder may. */
  append(input: Append): Maybe<{ readonly seqs: readonly number[] }>;
  /** What is said of an answer before its message is whole. Only the turn's holder may; the next message replaces it. */
  keepSaid(input: KeepSaid): Maybe<{ readonly kept: true }>;
  /** Messages, usage, deliveries and inbox are stored, the lease is free, the next work found: all or nothing. */
  finish(input: Finish): Maybe<Finished>;
  /** A line that waits for no turn is stored, once, and the cursor has moved. Nothing else is touched. */
  acceptLine(input: AcceptLine): Promise<{ readonly duplicate: boolean; readonly inbox: number }>;
  /** What still waits is changed or gone; what does not, stays, and the change is recorded. The cursor has moved. */
  reconsider(input: Afterthought): Promise<AfterthoughtOutcome>;
  /** Waiting messages of a conversation will not run. Returns them. */
  cancelWaiting(input: { readonly conversation: number } & Now): Promise<readonly NewMessage[]>;
  /** The note or notice about a fresh start was given: never again. */
  markShown(input: { readonly conversation: number; readonly shown: Shown }): Promise<void>;
  /** The policy's word on a conversation in which nobody speaks. Work that runs or waits there keeps it. */
  expire(input: Expire): Promise<Expired>;
  /** Activity that was stored under a clock that was ahead counts as of now. */
  limitActivity(input: Now): Promise<void>;
  /**
   * Settled deliveries, done inbox rows, ended turns, used codes, answered questions and done flushes from before `before`
   * are gone; so are processes that ended longer than `OUTPUT_KEPT_MS` ago, with their output.
   */
  clear(
    input: { readonly before: number; readonly limit: number } & Now,
  ): Promise<{ readonly more: boolean }>;
}

/** What a person does to sessions. */
export interface Shapes {
  /** A session of its own, addressed by id. The same id twice is refused. */
  create(
    input: { readonly session: NewSession & { readonly owner: string }; readonly profile: string } & Now,
  ): Maybe<Session>;
  /** The conversation points at a new session; the old one stays resumable. */
  reset(
    input: { readonly asker: Asker; readonly conversation: number; readonly newSession: NewSession } & Now,
  ): Maybe<Opened>;
  /** The conversation points at this session. Refused unless everyone who would then read it may see it. */
  switchTo(input: Ask & { readonly conversation: number } & Now): Maybe<Opened>;
  /**
   * The conversation of this source points at this session, and is made if there is none. Refused as `switchTo` is. The
   * session's origin stays what it was.
   */
  attach(input: Ask & Attach): Maybe<Opened>;
  reshape(input: Reshape): Maybe<Reshaped>;
  /** A new session that shows what the other shows now, or its first `keep` messages. */
  fork(input: Ask & { readonly newSession: ForkedSession; readonly keep?: number } & Now): Maybe<Session>;
  /**
   * Titles are unique per owner. `undefined` clears; `numbered` takes the next free number of the lineage; `ifUntitled`
   * leaves a title that is there. What asking for it used is counted in the same commit, unless it is refused.
   */
  setTitle(input: Ask & NewTitle): Maybe<Session>;
  change(input: Ask & { readonly change: SessionChange } & Now): Maybe<Session>;
  /** For this conversation only. */
  choose(
    input: { readonly asker: Asker; readonly conversation: number; readonly change: SettingsChange } & Now,
  ): Maybe<Conversation>;
  /** Where on a platform goes what has no other place to go. */
  setHome(input: { readonly home: HomeChannel } & Now): Promise<void>;
  /** The platform has no such place any more. False if it had none. */
  forgetHome(input: { readonly platform: string }): Promise<boolean>;
  /** Counted in the session and under its purpose. With a fence, only the turn's holder may. */
  recordUsage(input: RecordUsage): Maybe<Session>;
  /** Gone, and its words overwritten; only what a fork still shows stays, and belongs to the fork's owner. */
  remove(input: Ask & Now): Maybe<boolean>;
  /** Ended sessions last used before `before`, oldest first. */
  prune(input: Prune): Promise<readonly Session[]>;
  hold(input: Ask & { readonly name: string; readonly until: number }): Maybe<Session>;
  release(input: Ask & { readonly name: string }): Promise<boolean>;
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
  erasePerson(input: ErasePerson): Maybe<Erased>;
  /** The messages follow what was imported before, as if imported with it. Refused unless it has `after` messages. */
  importMore(input: ImportedMore & { readonly profile: string }): Maybe<Session>;
}

/** What may exist once, and who is alive. */
export interface Runners {
  beat(input: { readonly runner: Runner } & Now): Promise<void>;
  retire(input: { readonly runner: string }): Promise<void>;
  /** A rising number for the holder; `undefined` while another live runner holds it. */
  lease(
    input: {
      readonly name: string;
      readonly runner: string;
      readonly ttlMs: number;
      readonly about?: string;
    } & Now,
  ): Promise<number | undefined>;
  unlease(input: { readonly name: string; readonly runner: string }): Promise<boolean>;
}

/** The read side: never waits for a writer. */
export interface Reads {
  /** Exact id or handle first; else every session whose id begins so (10 at most). */
  find(input: { readonly asker: Asker; readonly text: string }): Promise<readonly Session[]>;
  findByTitle(input: { readonly asker: Asker; readonly title: string }): Promise<Session | undefined>;
  /** The conversations of this source's chat that the asker may know of, without touching any. */
  conversations(input: {
    readonly asker: Asker;
    readonly source?: Source;
    readonly session?: string;
  }): Promise<readonly Conversation[]>;
  /** Every conversation that the asker may know of, with its current session, in order of number. */
  listConversations(input: ConversationQuery): Promise<Page<CurrentConversation>>;
  /** What the session shows, in order. */
  history(input: Shows): Promise<readonly Message[] | undefined>;
  /** Everything ever said in it. */
  messages(input: Said): Promise<readonly Message[] | undefined>;
  /** What it shows, as runs of messages; and which of its own messages are hidden. */
  shape(input: Ask): Promise<Shape | undefined>;
  versions(input: Ask): Promise<readonly Versions[]>;
  /** What was accepted for the session and waits for its turn, in order. */
  waiting(input: Ask): Promise<readonly NewMessage[]>;
  /** What `keepSaid` has kept of the message that is being written in the session; nothing between two messages. */
  growing(input: Ask): Promise<Growing | undefined>;
  decisions(input: {
    readonly asker: Asker;
    readonly conversation: number;
  }): Promise<readonly PolicyDecision[]>;
  /** What is around a session, for people who ask why it is as it is. */
  surroundings(input: Ask): Promise<Surroundings | undefined>;
  /** Every conversation that the asker may know of and whose key may be written so. */
  conversationsByKey(input: {
    readonly asker: Asker;
    readonly key: string;
  }): Promise<readonly PlacedConversation[]>;
  /** How a message came in, by its place in a session or by its id on the platform; each profile has its own. */
  arrivals(input: ArrivalAsked): Promise<readonly Arrival[]>;
  list(input: ListQuery): Promise<Page<Listed>>;
  search(input: SearchRequest): Promise<readonly Hit[]>;
  /** How many messages such a search leaves out because they still wait for the index; the oldest are left out first. */
  unsearched(input: SearchRequest): Promise<number>;
  /** Bytes of a part of a message that the asker may see. */
  blob(input: { readonly asker: Asker; readonly hash: string }): Promise<Uint8Array | undefined>;
  hasOther(input: Ask): Promise<boolean>;
  stats(input: { readonly asker: Asker }): Promise<Stats>;
  /** Sessions with a turn or with waiting input whose runner is gone, or that never had one; and where to answer. */
  work(input: Now): Promise<readonly { readonly session: string; readonly platform: string }[]>;
  /** Conversations with something said and nobody speaking since `before`, that have not expired; in order of number. */
  silent(input: {
    readonly before: number;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly Silent[]>;
  insights(input: {
    readonly asker: Asker;
    readonly since: number;
    readonly platform?: string;
    /** The zone whose days usage is summed up by; UTC unless said. */
    readonly zone?: string;
  }): Promise<Insights>;
  /** What the session has used, by time, purpose and model, in order of time. Its counters are the sum. */
  usageEntries(input: Ask): Promise<readonly UsageEntry[] | undefined>;
  homes(): Promise<readonly HomeChannel[]>;
  /**
   * What may exist once and is held now, by a runner that lives. With `silent`, also what has run out although the process
   * of its holder exists on this machine, marked with `silentSince`.
   */
  leases(input: Now & { readonly silent?: boolean }): Promise<readonly HeldLease[]>;
  cursor(input: { readonly name: string }): Promise<string | undefined>;
  /** Everything of a person but their own sessions; and how much there is in all. */
  personData(input: PersonName): Promise<PersonData | undefined>;
}

export interface Store
  extends Steps,
    OutboxSteps,
    AccessSteps,
    ProcessSteps,
    MemorySteps,
    Shapes,
    Runners,
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
  readonly asked?: Pick<RecordUsage, "usage" | "now">;
}

export interface RecordUsage extends Ask {
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

export interface Append extends Ask {
  readonly messages: readonly NewMessage[];
  readonly blobs?: readonly Blob[];
  readonly fence?: number;
  /** What the model has used for these messages and was not counted yet: the same commit counts it. */
  readonly usage?: UsageDelta;
  readonly now: number;
}

export type ArrivalAsked = { readonly asker: Asker } & (
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

export interface Erased {
  readonly done: boolean;
  readonly after?: number;
}

export interface Shape {
  readonly pieces: readonly { readonly session: string; readonly from: number; readonly to: number }[];
  readonly hidden: readonly { readonly from: number; readonly to: number }[];
}
