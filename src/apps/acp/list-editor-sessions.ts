import type { ListSessionsResponse, SessionInfo } from "@agentclientprotocol/sdk/unstable";
import type { ListedSession } from "../../core/listing.ts";
import type { Session } from "../../core/session.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { getSessionFolder, requireAbsoluteFolder } from "./folder.ts";

const PAGE_SIZE = 50;

/** The person's sessions in which there is something to read, newest first; of one folder, if one is named. */
export async function listEditorSessions(
  editor: EditorContext,
  asked: { readonly cwd?: string | null; readonly cursor?: string | null },
): Promise<ListSessionsResponse> {
  const { cwd, cursor } = asked;
  const sessions = await editor.sessions();
  const page = await sessions.list(OWNER_ASKER, {
    limit: PAGE_SIZE,
    used: true,
    ...(!editor.all && { kinds: ["editor"] }),
    ...(cwd != null && { cwd: requireAbsoluteFolder(cwd) }),
    ...(cursor != null && { cursor }),
  });
  return {
    sessions: page.items.map(toSessionInfo),
    ...(page.cursor !== undefined && { nextCursor: page.cursor }),
  };
}

/** A session without a title is known by its first words. A field without a value is absent: clients stumble over null. */
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
