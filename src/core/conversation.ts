import type { ScopeRules } from "./identity.ts";
import type { PersonId } from "./owner.ts";
import type { ResetInstants, ResetReason } from "./reset-policy.ts";
import type { NewSession, Session } from "./session.ts";
import type { Source } from "./source.ts";

/** The conversation of one identity. It points to its current session. */
export interface Conversation {
  readonly number: number;
  readonly key: string;
  readonly person?: PersonId;
  /** The scope rules at its creation. Later changes of the settings do not affect it. */
  readonly scope: ScopeRules;
  readonly session: string;
  /** The time of the last activity. Resets depend on it alone. */
  readonly activeAt: number;
  readonly settings: ConversationSettings;
}

/** How a message that arrives during a turn is handled. */
export type BusyMode = "interrupt" | "queue" | "collect";

export const BUSY_MODES: readonly BusyMode[] = ["interrupt", "queue", "collect"];

/** The reasoning effort of the model. */
export type Reasoning = "none" | "low" | "medium" | "high";

export const REASONING: readonly Reasoning[] = ["none", "low", "medium", "high"];

/** How approval requests are answered: by the person, or automatically. */
export type ApprovalMode = "ask" | "allow" | "deny";

export const APPROVAL_MODES: readonly ApprovalMode[] = ["ask", "allow", "deny"];

/** Settings that people chose for one conversation. An absent field uses the configuration. */
export interface ConversationSettings {
  readonly busy?: BusyMode;
  readonly model?: string;
  readonly personality?: string;
  readonly reasoning?: Reasoning;
  readonly approvals?: ApprovalMode;
}

/** `undefined` keeps a field, `null` clears it. */
export type SettingsChange = {
  readonly [Name in keyof ConversationSettings]?: ConversationSettings[Name] | null;
};

/** An idle conversation, with the fields that select its reset policy. */
export interface IdleConversation {
  readonly conversation: Conversation;
  readonly platform: string;
  readonly chatType: string;
}

/** Expires a conversation. Its next message starts a new session, with the stored reason. */
export interface Expire {
  readonly conversation: number;
  readonly reset: ResetInstants;
  readonly now: number;
}

export type Expired =
  | {
      readonly expired: true;
      readonly reason: "idle" | "daily";
      readonly session: Session;
      readonly ended: boolean;
    }
  | { readonly expired: false };

/** A reset of a conversation, stored until the model and the person were notified. */
export interface FreshStart {
  readonly reason: ResetReason;
  readonly hadActivity: boolean;
  readonly previous: { readonly session: string; readonly handle: string };
  readonly noteDue: boolean;
  readonly noticeDue: boolean;
}

/** Input to find the conversation of a source, or to start a session if there is none or it is stale. */
export interface Routing {
  readonly source: Source;
  readonly profile: string;
  readonly scope: ScopeRules;
  /** The account's person, if it is configured. Otherwise the store finds or creates one. */
  readonly person?: PersonId;
  readonly reset: ResetInstants;
  /** Whether the person is notified about an automatic reset. Default true. */
  readonly notify?: boolean;
  /** Used only when a new session is needed. */
  readonly newSession: NewSession;
  readonly now: number;
}

export interface Open extends Routing {
  /** Starts a new session regardless of the policy. */
  readonly fresh?: boolean;
}

export interface Opened {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly created: boolean;
  readonly fresh?: FreshStart;
  /** The scope settings changed since the conversation was created. It keeps its old rules. */
  readonly usesOldScope: boolean;
}

/** A stored decision about the session of a conversation, with its reason. */
export interface PolicyDecision {
  readonly at: number;
  readonly decision: "created" | "reset" | "expired" | "kept_busy" | "new" | "switched" | "merged";
  readonly reason?: string;
  readonly activeAt?: number;
  readonly idleBefore?: number;
  readonly dailyBefore?: number;
  readonly from?: string;
  readonly to?: string;
}
