import type { ScopeRules } from "./identity.ts";
import type { PersonId } from "./owner.ts";
import type { ResetInstants, ResetReason } from "./reset-policy.ts";
import type { NewSession, Session } from "./session.ts";
import type { Source } from "./source.ts";

/** A row per identity; points to the session that is current there. */
export interface Conversation {
  readonly number: number;
  readonly key: string;
  readonly person?: PersonId;
  /** The rules it was created under; later changes of the settings do not move it. */
  readonly scope: ScopeRules;
  readonly session: string;
  /** The one instant that decides about a reset. */
  readonly activeAt: number;
  readonly settings: ConversationSettings;
}

/** What becomes of a message that arrives while a turn runs. */
export type BusyMode = "interrupt" | "queue" | "collect";

export const BUSY_MODES: readonly BusyMode[] = ["interrupt", "queue", "collect"];

/** How long a model thinks before it answers. */
export type Reasoning = "none" | "low" | "medium" | "high";

export const REASONING: readonly Reasoning[] = ["none", "low", "medium", "high"];

/** What becomes of an agent's question whether it may: the person is asked, or it is answered for them. */
export type ApprovalMode = "ask" | "allow" | "deny";

export const APPROVAL_MODES: readonly ApprovalMode[] = ["ask", "allow", "deny"];

/** What people chose for one conversation; what is absent is as configured. */
export interface ConversationSettings {
  readonly busy?: BusyMode;
  readonly model?: string;
  readonly personality?: string;
  readonly reasoning?: Reasoning;
  readonly approvals?: ApprovalMode;
}

/** `undefined` leaves, `null` clears. */
export type SettingsChange = {
  readonly [Name in keyof ConversationSettings]?: ConversationSettings[Name] | null;
};

/** A conversation that has been silent for long, and where it takes place. */
export interface IdleConversation {
  readonly conversation: Conversation;
  readonly platform: string;
  readonly chatType: string;
}

/** Ends what has expired. The next message there starts afresh, for this reason. */
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

/** Why a conversation starts afresh; kept with it until the model and the person have been told. */
export interface FreshStart {
  readonly reason: ResetReason;
  readonly hadActivity: boolean;
  readonly previous: { readonly session: string; readonly handle: string };
  readonly noteDue: boolean;
  readonly noticeDue: boolean;
}

/** How a source finds its conversation, and what to do when there is none or it is stale. */
export interface Routing {
  readonly source: Source;
  readonly profile: string;
  readonly scope: ScopeRules;
  /** Whom the account belongs to, when configuration says so; else the store knows or makes one. */
  readonly person?: PersonId;
  readonly reset: ResetInstants;
  /** Whether the person is told when the policy starts afresh. Default true. */
  readonly notify?: boolean;
  /** Used only when a new session is needed. */
  readonly newSession: NewSession;
  readonly now: number;
}

export interface Open extends Routing {
  /** Start a new session whatever the policy says. */
  readonly fresh?: boolean;
}

export interface Opened {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly created: boolean;
  readonly fresh?: FreshStart;
  /** The settings have changed since this conversation began: it keeps the rules it was created under. */
  readonly usesOldScope: boolean;
}

/** One stored answer to "why did this conversation start afresh, or not?". */
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
