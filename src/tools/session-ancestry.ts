import type { Asker } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Store } from "../ports/store.ts";

/** Finds the original session of a fork; it may be deleted, or not visible to the asker. */
export interface SessionAncestry {
  findRoot(session: string): Promise<string>;
  /** Whether the session is a fork of this one, directly or indirectly. */
  isDescendant(session: string, from: string): Promise<boolean>;
}

export function createSessionAncestry({
  store,
  asker,
}: {
  readonly store: Store;
  readonly asker: Asker;
}): SessionAncestry {
  const known = new Map<string, Promise<Session | undefined>>();
  const get = (id: string): Promise<Session | undefined> => {
    const found = known.get(id) ?? store.sessions.getSession({ asker, session: id });
    known.set(id, found);
    return found;
  };
  /** The session, its origin, the origin of that, and so on. An imported session may name itself as parent. */
  const listAncestors = async (session: string): Promise<ReadonlySet<string>> => {
    const passed = new Set<string>();
    for (let id: string | undefined = session; id !== undefined && !passed.has(id); ) {
      passed.add(id);
      id = (await get(id))?.parent;
    }
    return passed;
  };
  return {
    findRoot: async (session) => [...(await listAncestors(session))].at(-1) ?? session,
    isDescendant: async (session, from) => (await listAncestors(session)).has(from),
  };
}
