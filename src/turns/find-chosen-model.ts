import { SYSTEM } from "../core/owner.ts";
import type { Store } from "../ports/store.ts";

/**
 * The model that the chat of a session chose. Requests that nobody sees, for a title or the memory, go to the same one: the
 * chat may have chosen it so that no other provider reads what is said there.
 */
export async function findChosenModel(
  store: Pick<Store, "conversations" | "sessions">,
  session: string,
): Promise<string | undefined> {
  const pointing = await store.conversations.findConversations({ asker: SYSTEM, session });
  if (pointing.length > 0)
    return pointing.find(({ settings }) => settings.model !== undefined)?.settings.model;
  // The chat has left the session, but keeps its choice.
  const found = await store.sessions.getSession({ asker: SYSTEM, session });
  if (found?.origin === undefined) return undefined;
  const left = await store.conversations.findConversations({ asker: SYSTEM, source: found.origin });
  return left.find(({ settings }) => settings.model !== undefined)?.settings.model;
}
