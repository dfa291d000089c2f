import type { PersonId } from "./owner.ts";
import type { Source } from "./source.ts";

/** What a person may do here. Whoever is neither may not speak. */
export type AccessRole = "owner" | "member";

/** An account that is known, and what its person was granted here by pairing or by being the owner. */
export interface AccountRole {
  readonly person: PersonId;
  readonly role?: AccessRole;
  readonly name?: string;
}

/** Names an account on a platform. */
export interface AccountName {
  readonly platform: string;
  readonly userId?: string;
  readonly altId?: string;
  readonly name?: string;
}

/** A person with a role, as whoever looks after the home sees them. */
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
  /** Who has asked to be let in; for a code that links an account to a person, nobody yet. */
  readonly asker?: Source;
  /** Whom the account that gives the code will belong to. */
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
  /** One request per account in this time, */
  readonly everyMs: number;
  /** and this many kept per platform: the oldest makes room for the next. Neither counts for codes that link. */
  readonly maxPending: number;
  readonly now: number;
}

export type PairingRequestResult =
  | { readonly state: "asked"; readonly number: number }
  | { readonly state: "too_soon"; readonly until: number };

/** Guesses are counted before they are compared. */
export interface GuessAttempt {
  /** Who guesses: one approving side, or one account, whose name ends in `platform:id`. */
  readonly name: string;
  readonly maxGuesses: number;
  readonly lockMs: number;
  readonly now: number;
}

export type GuessResult = { readonly allowed: true } | { readonly allowed: false; readonly until: number };

/** Who may speak, as configured. */
export interface AccessRules {
  readonly everywhere: AccessRule;
  readonly platforms: Readonly<Record<string, AccessRule>>;
}

export interface AccessRule {
  /** Anyone may. */
  readonly allowAll?: boolean;
  /** Ids that may; one with an @ is also known by what stands before it. */
  readonly allow?: readonly string[];
  /** What a stranger in a direct chat gets: a code to be let in with, or silence. Default pair. */
  readonly strangers?: "pair" | "ignore";
}

/**
 * The sender's role here. Every yes counts: being the owner or paired, a list, or a door that stands open, on the platform
 * or everywhere. Whoever has no id has no role; but what is posted in a channel without a name is the channel's own word,
 * since only those who run it can post there.
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

/** The account that speaks. */
export function getSenderAccount(source: Source): AccountName {
  return {
    platform: source.platform,
    ...(source.userId !== undefined && { userId: source.userId }),
    ...(source.userIdAlt !== undefined && { altId: source.userIdAlt }),
    ...(source.userName !== undefined && { name: source.userName }),
  };
}
