import type { ListSessionsResponse, SessionInfo } from "@agentclientprotocol/sdk/unstable";
import type { Listed } from "../../core/listing.ts";
import type { Session } from "../../core/session.ts";
import { type Editor, who } from "./editor.ts";
import { absoluteFolder, folderOf } from "./folder.ts";

const PAGE = 50;

/** The person's sessions in which there is something to read, newest first; of one folder, if one is named. */
export async function listSessions(
  editor: Editor,
  asked: { readonly cwd?: string | null; readonly cursor?: string | null },
): Promise<ListSessionsResponse> {
  const { cwd, cursor } = asked;
  const sessions = await editor.sessions();
  const page = await sessions.list(who, {
    limit: PAGE,
    used: true,
    ...(!editor.all && { kinds: ["editor"] }),
    ...(cwd != null && { cwd: absoluteFolder(cwd) }),
    ...(cursor != null && { cursor }),
  });
  return {
    sessions: page.items.map(infoOf),
    ...(page.cursor !== undefined && { nextCursor: page.cursor }),
  };
}

/** A session without a title is known by its first words. A field without a value is absent: clients stumble over null. */
function infoOf(session: Listed): SessionInfo {
  const title = session.title ?? session.preview;
  return {
    sessionId: session.id,
    cwd: folderOf(session),
    ...(title !== "" && { title }),
    updatedAt: timeOf(session),
  };
}

export function timeOf({ lastAt }: Pick<Session, "lastAt">): string {
  return new Date(lastAt).toISOString();
}
