import type { Asker } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Store } from "../ports/store.ts";

/** Says from which session a session was forked in the end; it may be gone by now, or not for the asker to see. */
export interface SessionAncestry {
  findRoot(session: string): Promise<string>;
  /** Whether it was forked from this one, by however many steps. */
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
  /** The session itself, then what it was forked from, and so on. An imported one may name itself. */
  const line = async (session: string): Promise<ReadonlySet<string>> => {
    const passed = new Set<string>();
    for (let id: string | undefined = session; id !== undefined && !passed.has(id); ) {
      passed.add(id);
      id = (await get(id))?.parent;
    }
    return passed;
  };
  return {
    findRoot: async (session) => [...(await line(session))].at(-1) ?? session,
    isDescendant: async (session, from) => (await line(session)).has(from),
  };
}
