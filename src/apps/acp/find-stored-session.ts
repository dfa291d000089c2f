import type { Session } from "../../core/session.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";

/** The person's session of exactly this id. */
export function findStoredSession({ store }: EditorContext, session: string): Promise<Session | undefined> {
  return store.sessions.getSession({ asker: OWNER_ASKER, session });
}
