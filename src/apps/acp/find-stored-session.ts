import type { Session } from "../../core/session.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";

/** The person's session of exactly this id. */
export async function findStoredSession({ store }: EditorContext, id: string): Promise<Session | undefined> {
  const found = await store.sessions.find({ asker: OWNER_ASKER, text: id });
  return found.find((session) => session.id === id);
}
