import type { Asker } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import { cleanTitle } from "../core/titles.ts";
import type { Store } from "../ports/store.ts";

/**
 * The one session that a person means by an id, a handle, a title or the beginning of an id, in this order: what is
 * written out in full wins over a beginning. Several that begin so are candidates.
 */
export async function sessionNamed(
  store: Store,
  who: Asker,
  text: string,
): Promise<{ readonly session?: Session; readonly candidates: readonly Session[] }> {
  const found = await store.find({ asker: who, text });
  const exact = found.find(({ id, handle }) => id === text || handle === text);
  const session = exact ?? (await titled(store, who, text)) ?? (found.length === 1 ? found[0] : undefined);
  return session === undefined ? { candidates: found } : { session, candidates: [] };
}

async function titled(store: Store, who: Asker, text: string): Promise<Session | undefined> {
  const title = asTitle(text);
  return title === undefined ? undefined : store.findByTitle({ asker: who, title });
}

function asTitle(text: string): string | undefined {
  try {
    return cleanTitle(text);
  } catch {
    return undefined; // longer than any title
  }
}
