import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";

/**
 * Some clients create a session in one process and first speak in it in another, so an unused one outlives its editor for
 * a while. Lists never have it.
 */
const UNUSED_TTL_MS = 24 * 60 * 60_000;
const BATCH_SIZE = 100;

/** Removes editors' sessions in which nothing was ever said. Those that are open elsewhere come back with a prompt. */
export async function removeUnusedSessions(editor: EditorContext): Promise<void> {
  const { store, clock } = editor;
  const sessions = await editor.sessions();
  const unused = await sessions.list(OWNER_ASKER, { kinds: ["editor"], used: false, limit: BATCH_SIZE });
  for (const { id, lastAt } of unused.items) {
    if (lastAt > clock.now() - UNUSED_TTL_MS) continue;
    // Accepted, and not answered yet: the next one who opens it does that.
    if ((await store.inbox.listPending({ asker: OWNER_ASKER, session: id })).length > 0) continue;
    await sessions.remove(OWNER_ASKER, id);
  }
}
