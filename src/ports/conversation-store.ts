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

/** Conversations: the current session of each chat, its settings and its resets. */
export interface ConversationStore {
  /**
   * Finds or creates the conversation of the source; concurrent calls for one identity create one row. A conversation that
   * the reset policy calls stale gets a new session.
   */
  open(input: Open): Promise<Opened>;
  /** Records that the model (`note`) or the person (`notice`) was told about a reset, so that it happens once. */
  markResetNotified(input: {
    readonly conversation: number;
    readonly notified: ResetNotification;
  }): Promise<void>;
  /**
   * Ends the session of an idle conversation that the reset policy calls stale. A running turn, pending input, a hold or a
   * background process keeps it.
   */
  expireConversation(input: Expire): Promise<Expired>;
  /** Sets activity times that lie after `now` to `now`. They were stored while the system clock was ahead. */
  clampActivity(input: Now): Promise<void>;
  /** Makes a new session current in the conversation. The old session can still be resumed. */
  reset(
    input: { readonly asker: Asker; readonly conversation: number; readonly newSession: NewSession } & Now,
  ): Maybe<Opened>;
  /** Makes this session current in the conversation. Refused unless everybody who reads that chat may see the session. */
  switchTo(input: SessionRequest & { readonly conversation: number } & Now): Maybe<Opened>;
  /**
   * Makes this session current in the conversation of the source, and creates the conversation if there is none. Refused
   * like `switchTo`. The session keeps its origin.
   */
  attach(input: SessionRequest & Attach): Maybe<Opened>;
  /** Changes the settings of this conversation only. An absent field stays; `null` clears it. */
  changeConversationSettings(
    input: { readonly asker: Asker; readonly conversation: number; readonly change: SettingsChange } & Now,
  ): Maybe<Conversation>;
  /** Sets the platform's home channel: the chat for messages without another target. One per platform. */
  setHomeChannel(input: { readonly home: HomeChannel } & Now): Promise<void>;
  /** Removes the platform's home channel. False if there was none. */
  removeHomeChannel(input: { readonly platform: string }): Promise<boolean>;
  /** Conversations of the source's chat, or those that point to `session`, that the asker may see. Changes nothing. */
  findConversations(input: {
    readonly asker: Asker;
    readonly source?: Source;
    readonly session?: string;
  }): Promise<readonly Conversation[]>;
  /** Conversations that the asker may see, with their current session, ordered by number. */
  listConversations(input: ConversationQuery): Promise<Page<CurrentConversation>>;
  /** The recorded decisions about the conversation's session, newest first. */
  listDecisions(input: {
    readonly asker: Asker;
    readonly conversation: number;
  }): Promise<readonly PolicyDecision[]>;
  /** Conversations that the asker may see and whose key can be written like this. */
  findConversationsByKey(input: {
    readonly asker: Asker;
    readonly key: string;
  }): Promise<readonly ConversationDetails[]>;
  /** Conversations with messages but no activity since `before` that have not expired, ordered by number. */
  listIdle(input: {
    readonly before: number;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly IdleConversation[]>;
  listHomeChannels(): Promise<readonly HomeChannel[]>;
}

/** The chat in which a person continues an existing session. */
export interface Attach {
  readonly source: Source;
  readonly profile: string;
  readonly scope: ScopeRules;
  readonly now: number;
}
