import type { ListSessionsResponse, SessionInfo } from "@agentclientprotocol/sdk/unstable";
import type { ListedSession } from "../../core/listing.ts";
import type { Session } from "../../core/session.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { getSessionFolder, requireAbsoluteFolder } from "./folder.ts";

const PAGE_SIZE = 50;

/** The sessions with messages, newest first; only those of one folder if the editor names one. */
export async function listEditorSessions(
  editor: EditorContext,
  query: { readonly cwd?: string | null; readonly cursor?: string | null },
): Promise<ListSessionsResponse> {
  const { cwd, cursor } = query;
  const sessions = await editor.storedSessions();
  const page = await sessions.list({
    limit: PAGE_SIZE,
    used: true,
    ...(cwd != null && { cwd: requireAbsoluteFolder(cwd) }),
    ...(cursor != null && { cursor }),
  });
  return {
    sessions: page.items.map(toSessionInfo),
    ...(page.cursor !== undefined && { nextCursor: page.cursor }),
  };
}

/** A session without a title shows its first words. A field without a value is absent: some clients fail on null. */
function toSessionInfo(session: ListedSession): SessionInfo {
  const title = session.title ?? session.preview;
  return {
    sessionId: session.id,
    cwd: getSessionFolder(session),
    ...(title !== "" && { title }),
    updatedAt: formatUpdatedAt(session),
  };
}

export function formatUpdatedAt({ lastAt }: Pick<Session, "lastAt">): string {
  return new Date(lastAt).toISOString();
}

/** Some clients create a session in one process and send the first prompt in another, so unused sessions stay for a day. */
const UNUSED_TTL_MS = 24 * 60 * 60_000;
const BATCH_SIZE = 100;

/** Removes old editor sessions without messages. A prompt in an open thread creates its session again. */
export async function removeUnusedSessions(editor: EditorContext): Promise<void> {
  const { store, clock } = editor;
  const sessions = await editor.sessions();
  const unused = await sessions.list(OWNER_ASKER, { kinds: ["editor"], used: false, limit: BATCH_SIZE });
  for (const { id, lastAt } of unused.items) {
    if (lastAt > clock.now() - UNUSED_TTL_MS) continue;
    // The next process that opens the session answers its pending message.
    if ((await store.inbox.listPending({ asker: OWNER_ASKER, session: id })).length > 0) continue;
    await sessions.remove(OWNER_ASKER, id);
  }
}
