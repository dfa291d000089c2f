import type { Source } from "./source.ts";

/** A person's id: `owner` for the owner of the home, `p_…` for everybody else. */
export type PersonId = string;

/** The owner of the home: the person at the local terminal, in the editor, or on the page opened with the start token. */
export const OWNER: PersonId = "owner";

/** A sender without a stored person. Owns nothing. */
export const NOBODY: PersonId = "nobody";

/**
 * The person who asks, and the chat in which the answer appears. Everybody in `chat` can read the answer, so it may contain
 * only content of that chat. `everyone` has access to everything, for the operator's tools.
 */
export type Asker = { readonly person: PersonId; readonly chat?: string } | { readonly everyone: true };

/** Postrider itself, when it acts for no person. */
export const SYSTEM = { everyone: true } as const;

/** Determines who may see a session. A person or a chat owns it; `audience` is the chat that has seen all of it. */
export interface Ownership {
  readonly owner: string;
  readonly audience?: string;
}

/** The owner or audience name of a chat with several people. `undefined` for a direct chat. */
export function getChatAudience(
  source: Pick<Source, "platform" | "chatType" | "chatId">,
): string | undefined {
  if (source.chatType === "dm") return undefined;
  return `chat:${source.platform}:${source.chatId}`;
}

/** Only `everyone: true` grants full access, not the mere presence of the property. */
export function isEveryone(asker: Asker): asker is { readonly everyone: true } {
  return "everyone" in asker && asker.everyone === true;
}

/** The visibility rule. Stores express the same rule in their queries. */
export function canSee(asker: Asker, session: Ownership): boolean {
  if (isEveryone(asker)) return true;
  if (asker.chat === undefined) return session.owner === asker.person;
  return session.audience === asker.chat && (session.owner === asker.person || session.owner === asker.chat);
}
