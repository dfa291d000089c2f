import { type Editor, who } from "./editor.ts";

/**
 * Some clients create a session in one process and first speak in it in another, so an unused one outlives its editor for
 * a while. Lists never have it.
 */
const KEPT_MS = 24 * 60 * 60_000;
const MOST_AT_ONCE = 100;

/** Removes editors' sessions in which nothing was ever said. Those that are open elsewhere come back with a prompt. */
export async function removeUnused(editor: Editor): Promise<void> {
  const { store, clock } = editor;
  const sessions = await editor.sessions();
  const unused = await sessions.list(who, { kinds: ["editor"], used: false, limit: MOST_AT_ONCE });
  for (const { id, lastAt } of unused.items) {
    if (lastAt > clock.now() - KEPT_MS) continue;
    // Accepted, and not answered yet: the next one who opens it does that.
    if ((await store.waiting({ asker: who, session: id })).length > 0) continue;
    await sessions.remove(who, id);
  }
}
