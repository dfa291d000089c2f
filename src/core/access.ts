import type { PersonId } from "./owner.ts";
import type { Source } from "./source.ts";

/** A person without a role has no access. */
export type AccessRole = "owner" | "member";

/** A known account, its person, and the role that the person got by pairing or as the owner. */
export interface AccountRole {
  readonly person: PersonId;
  readonly role?: AccessRole;
  readonly name?: string;
}

/** Identifies an account on a platform. */
export interface AccountName {
  readonly platform: string;
  readonly userId?: string;
  readonly altId?: string;
  readonly name?: string;
}

/** A person with a role, for lists of who has access. */
export interface Grant {
  readonly person: PersonId;
  readonly role: AccessRole;
  readonly name?: string;
  readonly since: number;
  readonly accounts: readonly AccountName[];
}

/** A code that is not used yet. Only its hash is stored. */
export interface Pairing {
  readonly number: number;
  readonly platform: string;
  /** The sender who requested access. Absent for a code that links an account to a person. */
  readonly asker?: Source;
  /** The person that the account which sends the code will be linked to. */
  readonly person?: PersonId;
  readonly salt: string;
  readonly hash: string;
  readonly askedAt: number;
  readonly expiresAt: number;
}

export interface PairingRequest {
  readonly platform: string;
  readonly asker?: Source;
  readonly person?: PersonId;
  readonly salt: string;
  readonly hash: string;
  readonly expiresAt: number;
  /** The minimum time between two requests of one account. Ignored for codes that link an account. */
  readonly everyMs: number;
  /** The maximum number of open codes for each platform; the oldest is dropped. Ignored for codes that link an account. */
  readonly maxPending: number;
  readonly now: number;
}

export type PairingRequestResult =
  | { readonly state: "asked"; readonly number: number }
  | { readonly state: "too_soon"; readonly until: number };

/** Guesses are counted before they are compared. */
export interface GuessAttempt {
  /** The counter to use: one for each place that approves codes, or one for each account, ending in `platform:id`. */
  readonly name: string;
  readonly maxGuesses: number;
  readonly lockMs: number;
  readonly now: number;
}

export type GuessResult = { readonly allowed: true } | { readonly allowed: false; readonly until: number };

/** The configured access rules. */
export interface AccessRules {
  readonly everywhere: AccessRule;
  readonly platforms: Readonly<Record<string, AccessRule>>;
}

export interface AccessRule {
  /** Everybody has access. */
  readonly allowAll?: boolean;
  /** Ids with access. A sender's id that contains an @ also matches by the part before it. */
  readonly allow?: readonly string[];
  /** The reply to an unknown sender in a direct chat: a pairing code or nothing. Default `pair`. */
  readonly strangers?: "pair" | "ignore";
}

/**
 * The sender's role: the stored one, or `member` if a rule of the platform or a general rule allows the sender. A sender
 * without an id has no role, except in channels: only their admins can post anonymously, so the channel's id counts.
 */
export function resolveRole(
  rules: AccessRules,
  sender: Pick<Source, "platform" | "userId" | "userIdAlt"> & Partial<Pick<Source, "chatType" | "chatId">>,
  known: AccountRole | undefined,
): AccessRole | undefined {
  if (known?.role !== undefined) return known.role;
  const { userId, userIdAlt, chatType, chatId } = sender;
  const speaker = userId === undefined && userIdAlt === undefined && chatType === "channel" ? chatId : userId;
  const ids = [speaker, userIdAlt].flatMap((id) => (id === undefined ? [] : [id, getLocalPart(id)]));
  if (ids.length === 0) return undefined;
  const here = rules.platforms[sender.platform] ?? {};
  const isListed = [...(here.allow ?? []), ...(rules.everywhere.allow ?? [])].some((id) => ids.includes(id));
  return isListed || here.allowAll || rules.everywhere.allowAll ? "member" : undefined;
}

export function getStrangerPolicy(rules: AccessRules, platform: string): "pair" | "ignore" {
  return rules.platforms[platform]?.strangers ?? rules.everywhere.strangers ?? "pair";
}

function getLocalPart(id: string): string {
  const at = id.indexOf("@");
  return at > 0 ? id.slice(0, at) : id;
}

/** The account of the sender. */
export function getSenderAccount(source: Source): AccountName {
  return {
    platform: source.platform,
    ...(source.userId !== undefined && { userId: source.userId }),
    ...(source.userIdAlt !== undefined && { altId: source.userIdAlt }),
    ...(source.userName !== undefined && { name: source.userName }),
  };
}
