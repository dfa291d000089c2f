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
import type { ConversationDetails } from "../core/diagnostics.ts";
import type { ScopeRules } from "../core/identity.ts";
import type { ConversationQuery, CurrentConversation, Page } from "../core/listing.ts";
import type { Asker } from "../core/owner.ts";
import type { NewSession } from "../core/session.ts";
import type { HomeChannel } from "../core/session-context.ts";
import type { Source } from "../core/source.ts";
import type { ResetNotification } from "../core/turn.ts";
import type { Maybe, Now, SessionRequest } from "./store-request.ts";

/** Which session is current in which chat, and when a chat starts afresh. */
export interface ConversationStore {
  /** One conversation per identity, however many open it at once; a stale one gets a new session. */
  open(input: Open): Promise<Opened>;
  /** The note or notice about a fresh start was given: never again. */
  markResetNotified(input: {
    readonly conversation: number;
    readonly notified: ResetNotification;
  }): Promise<void>;
  /** The policy's word on a conversation in which nobody speaks. Work that runs or waits there keeps it. */
  expireConversation(input: Expire): Promise<Expired>;
  /** Activity that was stored under a clock that was ahead counts as of now. */
  clampActivity(input: Now): Promise<void>;
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
  /** For this conversation only. */
  changeConversationSettings(
    input: { readonly asker: Asker; readonly conversation: number; readonly change: SettingsChange } & Now,
  ): Maybe<Conversation>;
  /** Where on a platform goes what has no other place to go. */
  setHomeChannel(input: { readonly home: HomeChannel } & Now): Promise<void>;
  /** The platform has no such place any more. False if it had none. */
  removeHomeChannel(input: { readonly platform: string }): Promise<boolean>;
  /** The conversations of this source's chat that the asker may know of, without touching any. */
  findConversations(input: {
    readonly asker: Asker;
    readonly source?: Source;
    readonly session?: string;
  }): Promise<readonly Conversation[]>;
  /** Every conversation that the asker may know of, with its current session, in order of number. */
  listConversations(input: ConversationQuery): Promise<Page<CurrentConversation>>;
  listDecisions(input: {
    readonly asker: Asker;
    readonly conversation: number;
  }): Promise<readonly PolicyDecision[]>;
  /** Every conversation that the asker may know of and whose key may be written so. */
  findConversationsByKey(input: {
    readonly asker: Asker;
    readonly key: string;
  }): Promise<readonly ConversationDetails[]>;
  /** Conversations with something said and nobody speaking since `before`, that have not expired; in order of number. */
  listIdle(input: {
    readonly before: number;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly IdleConversation[]>;
  listHomeChannels(): Promise<readonly HomeChannel[]>;
}

/** Where somebody goes on with a session that is there already. */
export interface Attach {
  readonly source: Source;
  readonly profile: string;
  readonly scope: ScopeRules;
  readonly now: number;
}
