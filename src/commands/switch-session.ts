import type { Opened } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import { pluralize } from "../core/pluralize.ts";
import type { Session } from "../core/session.ts";
import { type ChatCommandContext, escapeMarkdown } from "./command.ts";

/** The conversation goes on in this session. One that was put away is back in the lists: it is in use again. */
export async function switchSession(
  context: ChatCommandContext,
  conversation: number,
  session: Session,
): Promise<Opened> {
  const { sessions, who } = context;
  const opened = await sessions.switchTo(who, conversation, session.id);
  if (opened === undefined)
    throw new PostriderError("not_found", "That session has just been removed. You are where you were.");
  if (session.archivedAt !== undefined) await sessions.archive(who, session.id, false);
  return opened;
}

/**
 * What must happen when a conversation goes elsewhere: the answer that is being written ends here, and what waits is
 * cancelled and said, because it was meant for the session that is left. `go` is what takes it there: the answer ends only
 * when that has come about.
 */
export async function leaveSession(
  context: ChatCommandContext,
  conversation: number,
  go: () => Promise<unknown> = async () => {},
): Promise<string> {
  // First what waits: the end of an answer would take it up.
  const waited = formatCancelled(await context.chat.cancelPending(conversation));
  try {
    await go();
  } catch (error) {
    if (waited === "" || !(error instanceof PostriderError)) throw error;
    throw new PostriderError(error.code, `${error.message}${waited}`, {
      details: error.details,
      cause: error,
    });
  }
  const stopped = await context.chat.stop(conversation);
  const kept = "The answer that was being written has been stopped; what there was of it is kept.";
  return `${stopped ? `\n\n${kept}` : ""}${waited}`;
}

function formatCancelled(cancelled: readonly string[]): string {
  if (cancelled.length === 0) return "";
  const lines = [`${pluralize(cancelled.length, "message")} had not been answered yet and will not be:`];
  return [...lines, ...cancelled.map(quoteText)].map((line) => `\n\n${line}`).join("");
}

/** Word by word, so that it can be said again. */
function quoteText(text: string): string {
  const lines = text.split("\n").map((line) => escapeMarkdown(line).replace(/^(\s*\d*)([-#+.)])/, "$1\\$2"));
  return lines.map((line) => `> ${line}`).join("\n");
}

/** For what changes a session under the answer that is being written in it. */
export function refuseWhileAnswering(context: ChatCommandContext, session: string): void {
  if (!context.chat.isAnswering(session)) return;
  throw new PostriderError("session_busy", "An answer is being written. Wait for it, or /stop it first.");
}
