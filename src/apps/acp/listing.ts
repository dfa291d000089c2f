import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import type { ListSessionsResponse, SessionInfo } from "@agentclientprotocol/sdk/unstable";
import { PostriderError } from "../../core/errors.ts";
import type { Listed } from "../../core/listing.ts";
import type { Session } from "../../core/session.ts";
import { type Editor, who } from "./editor.ts";

const PAGE = 50;

/** The person's sessions, newest first; those of this folder, if one is named. */
export async function listSessions(
  editor: Editor,
  asked: { readonly cwd?: string | null; readonly cursor?: string | null },
): Promise<ListSessionsResponse> {
  const { cwd, cursor } = asked;
  const sessions = await editor.sessions();
  const page = await sessions.list(who, {
    limit: PAGE,
    ...(!editor.all && { kinds: ["editor"] }),
    ...(cwd != null && { cwd: absolute(cwd) }),
    ...(cursor != null && { cursor }),
  });
  return {
    sessions: page.items.map(infoOf),
    ...(page.cursor !== undefined && { nextCursor: page.cursor }),
  };
}

/** What has no title yet is known by its first words; what began in a messenger belongs to no folder. */
function infoOf(session: Listed): SessionInfo {
  return {
    sessionId: session.id,
    cwd: session.cwd ?? homedir(),
    title: session.title ?? (session.preview || null),
    updatedAt: timeOf(session),
  };
}

export function timeOf({ lastAt }: Pick<Session, "lastAt">): string {
  return new Date(lastAt).toISOString();
}

export function absolute(cwd: string): string {
  if (isAbsolute(cwd) && !/\p{Cc}/u.test(cwd)) return cwd;
  throw new PostriderError("invalid_input", "cwd must be an absolute path.", { details: { field: "cwd" } });
}
