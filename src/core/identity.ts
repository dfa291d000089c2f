import { PostriderError } from "./errors.ts";
import type { Source } from "./source.ts";

/** Who shares a conversation in chats with several people. Direct chats are not affected. */
export interface ScopeRules {
  /** Each person in a group has a conversation of their own. */
  readonly groupsPerUser: boolean;
  /** The same inside a thread; if false, everybody in a thread shares one conversation. */
  readonly threadsPerUser: boolean;
}

/** Configured rules. A rule that a platform omits comes from the general setting, then from the default. */
export interface ScopeSettings extends Partial<ScopeRules> {
  readonly byPlatform?: Readonly<Record<string, Partial<ScopeRules>>>;
}

/** The account ids of a sender. At least one is present. */
export interface Participant {
  readonly id?: string;
  readonly altId?: string;
}

/**
 * The part of a source that determines its conversation. `participant` keeps both ids: a platform may omit the second one,
 * and the store knows which account they belong to.
 */
export interface Identity {
  readonly profile: string;
  readonly platform: string;
  readonly chatType: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly participant?: Participant;
}

export function scopeFor(settings: ScopeSettings, platform: string): ScopeRules {
  const { byPlatform = {} } = settings;
  const own = Object.hasOwn(byPlatform, platform) ? byPlatform[platform] : undefined;
  return {
    groupsPerUser: own?.groupsPerUser ?? settings.groupsPerUser ?? true,
    threadsPerUser: own?.threadsPerUser ?? settings.threadsPerUser ?? true,
  };
}

export function buildIdentity(source: Source, scope: ScopeRules, profile = "main"): Identity {
  if (profile.trim() === "") {
    throw new PostriderError("invalid_input", "profile is empty: leave it out to use main.", {
      details: { field: "profile" },
    });
  }
  const participant =
    source.chatType === "dm" || isShared(source, scope) ? undefined : getParticipant(source);
  return {
    profile,
    platform: source.platform,
    chatType: source.chatType,
    chatId: source.chatId,
    ...(source.threadId === undefined ? {} : { threadId: source.threadId }),
    ...(participant === undefined ? {} : { participant }),
  };
}

/** Whether all senders there share one conversation. */
export function isShared(source: Pick<Source, "chatType" | "threadId">, scope: ScopeRules): boolean {
  if (source.chatType === "dm") return false;
  return !scope.groupsPerUser || (source.threadId !== undefined && !scope.threadsPerUser);
}

/** The sender's ids, or `undefined` if the platform provides none. */
export function getParticipant(source: Pick<Source, "userId" | "userIdAlt">): Participant | undefined {
  if (source.userId === undefined && source.userIdAlt === undefined) return undefined;
  return {
    ...(source.userId === undefined ? {} : { id: source.userId }),
    ...(source.userIdAlt === undefined ? {} : { altId: source.userIdAlt }),
  };
}
