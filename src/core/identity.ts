import { PostriderError } from "./errors.ts";
import type { Source } from "./source.ts";

/** Who shares a conversation in chats with several people. Direct chats are not affected. */
export interface ScopeRules {
  /** Each person in a group has a conversation of their own. */
  readonly groupsPerUser: boolean;
  /** Also inside a thread; false makes a thread one conversation for all who speak in it. */
  readonly threadsPerUser: boolean;
}

/** Rules as configured: what a platform leaves open comes from the general setting, then from the defaults. */
export interface ScopeSettings extends Partial<ScopeRules> {
  readonly byPlatform?: Readonly<Record<string, Partial<ScopeRules>>>;
}

/** An account as the platform names it; at least one of the two is present. */
export interface Participant {
  readonly id?: string;
  readonly altId?: string;
}

/**
 * The part of a source that decides who shares a conversation. `participant` stays a pair of ids: a platform
 * may give the second one only sometimes, and the store knows which account both belong to.
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

/** Whether the rules put everyone who speaks there into one conversation. */
export function isShared(source: Pick<Source, "chatType" | "threadId">, scope: ScopeRules): boolean {
  if (source.chatType === "dm") return false;
  return !scope.groupsPerUser || (source.threadId !== undefined && !scope.threadsPerUser);
}

/** The account that sent the message, or undefined where the platform does not say. */
export function getParticipant(source: Pick<Source, "userId" | "userIdAlt">): Participant | undefined {
  if (source.userId === undefined && source.userIdAlt === undefined) return undefined;
  return {
    ...(source.userId === undefined ? {} : { id: source.userId }),
    ...(source.userIdAlt === undefined ? {} : { altId: source.userIdAlt }),
  };
}
