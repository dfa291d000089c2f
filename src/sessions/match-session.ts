import { type Asker, isEveryone, OWNER } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import { cleanTitle } from "../core/titles.ts";
import type { Store } from "../ports/store.ts";

/** The matching session, or several candidates. Both are empty if nothing matches. */
export interface SessionMatch {
  readonly session?: Session;
  readonly candidates: readonly Session[];
}

/** Finds a session by id, handle, title or the start of an id, in this order. */
export async function matchSession(store: Store, who: Asker, text: string): Promise<SessionMatch> {
  const found = await store.sessions.find({ asker: who, text });
  const exact = found.find(({ id, handle }) => id === text || handle === text);
  if (exact !== undefined) return toMatch(exact);
  const named = await findTitled(store, who, text);
  if (named.length > 0) return toSingleMatch(named);
  return toSingleMatch(found);
}

function toMatch(session: Session): SessionMatch {
  return { session, candidates: [] };
}

function toSingleMatch(found: readonly Session[]): SessionMatch {
  return found.length === 1 && found[0] !== undefined ? toMatch(found[0]) : { candidates: found };
}

/** The newest session of the title's lineage. For `everyone`: the owner's, otherwise all sessions with this title. */
async function findTitled(store: Store, who: Asker, text: string): Promise<readonly Session[]> {
  const title = parseTitle(text);
  if (title === undefined) return [];
  const own = await store.sessions.findByTitle({ asker: isEveryone(who) ? { person: OWNER } : who, title });
  if (own !== undefined) return [own];
  const first = isEveryone(who) ? await store.sessions.findByTitle({ asker: who, title }) : undefined;
  return first === undefined ? [] : listWithSameTitle(store, who, first);
}

async function listWithSameTitle(
  store: Store,
  asker: Asker,
  { title }: Session,
): Promise<readonly Session[]> {
  const found: Session[] = [];
  let cursor: string | undefined;
  do {
    const after = cursor === undefined ? {} : { cursor };
    const page = await store.sessions.querySessions({
      asker,
      titled: true,
      archived: "both",
      limit: 1000,
      ...after,
    });
    found.push(...page.items.filter((session) => session.title === title));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

function parseTitle(text: string): string | undefined {
  try {
    return cleanTitle(text);
  } catch {
    return undefined; // longer than any title
  }
}
