import type { Opened } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import { pluralize } from "../core/pluralize.ts";
import type { Session } from "../core/session.ts";
import { type ChatCommandContext, escapeMarkdown } from "./command.ts";

/** Continues the conversation in this session. An archived session returns to the lists. */
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
 * Leaves the current session of a conversation: cancels its pending messages, which were meant for that session, switches
 * with `go`, and stops the answer in progress if that succeeded. Returns a text about both for the reply.
 */
export async function leaveSession(
  context: ChatCommandContext,
  conversation: number,
  go: () => Promise<unknown> = async () => {},
): Promise<string> {
  // Before the stop: the end of an answer would claim them.
  const notice = formatCancelled(await context.chat.cancelPending(conversation));
  try {
    await go();
  } catch (error) {
    if (notice === "" || !(error instanceof PostriderError)) throw error;
    throw new PostriderError(error.code, `${error.message}${notice}`, {
      details: error.details,
      cause: error,
    });
  }
  const stopped = await context.chat.stop(conversation);
  const kept = "The answer that was being written has been stopped; what there was of it is kept.";
  return `${stopped ? `\n\n${kept}` : ""}${notice}`;
}

function formatCancelled(cancelled: readonly string[]): string {
  if (cancelled.length === 0) return "";
  const lines = [`${pluralize(cancelled.length, "message")} had not been answered yet and will not be:`];
  return [...lines, ...cancelled.map(quoteText)].map((line) => `\n\n${line}`).join("");
}

/** The whole text, so that the person can send it again. */
function quoteText(text: string): string {
  const lines = text.split("\n").map((line) => escapeMarkdown(line).replace(/^(\s*\d*)([-#+.)])/, "$1\\$2"));
  return lines.map((line) => `> ${line}`).join("\n");
}

/** For commands that change a session which must not be answering. */
export async function refuseWhileAnswering(context: ChatCommandContext, session: string): Promise<void> {
  if (!(await context.chat.isAnswering(session))) return;
  throw new PostriderError("session_busy", "An answer is being written. Wait for it, or /stop it first.");
}
