import type { Source } from "./source.ts";

/** A person's id: `owner` for whoever's home this is, `p_…` for everyone else. */
export type PersonId = string;

/** The person whose home this is: the local terminal, the editor, the page opened with the start token. */
export const OWNER: PersonId = "owner";

/** Somebody who has never said anything here owns nothing. */
export const NOBODY: PersonId = "nobody";

/**
 * Who is asking, and where the answer will be seen. With `chat`, everyone in that chat reads along, so only
 * what was said there may be shown. `everyone` is for the operator's own tools.
 */
export type Asker = { readonly person: PersonId; readonly chat?: string } | { readonly everyone: true };

/** Postrider's own steps, which act for no person. */
export const SYSTEM = { everyone: true } as const;

/** What decides who may see a session: a person or a chat owns it; `audience` is the chat that saw all of it. */
export interface Ownership {
  readonly owner: string;
  readonly audience?: string;
}

/** The name of a chat with several people, as an owner or audience; undefined for a direct chat. */
export function getChatAudience(
  source: Pick<Source, "platform" | "chatType" | "chatId">,
): string | undefined {
  if (source.chatType === "dm") return undefined;
  return `chat:${source.platform}:${source.chatId}`;
}

/** Only the word itself opens every door, not the mere mention of it. */
export function isEveryone(asker: Asker): asker is { readonly everyone: true } {
  return "everyone" in asker && asker.everyone === true;
}

/** The rule of who may see what, in one place. Stores compile the same rule into their queries. */
export function canSee(asker: Asker, session: Ownership): boolean {
  if (isEveryone(asker)) return true;
  if (asker.chat === undefined) return session.owner === asker.person;
  return session.audience === asker.chat && (session.owner === asker.person || session.owner === asker.chat);
}
