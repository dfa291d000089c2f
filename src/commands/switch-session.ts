import type { Opened } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import type { ChatCommandContext } from "./command.ts";

/** The conversation goes on in this session. One that was put away is back in the lists: it is in use again. */
export async function switchSession(
  place: ChatCommandContext,
  conversation: number,
  session: Session,
): Promise<Opened> {
  const { sessions, who } = place;
  const opened = await sessions.switchTo(who, conversation, session.id);
  if (opened === undefined)
    throw new PostriderError("not_found", "That session has just been removed. You are where you were.");
  if (session.archivedAt !== undefined) await sessions.archive(who, session.id, false);
  return opened;
}
