import { PostriderError } from "../core/errors.ts";
import type { ListedSession, ListQuery } from "../core/listing.ts";
import { isEveryone } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import { matchSession } from "../sessions/match-session.ts";
import { type ChatCommandContext, shortenLine } from "./command.ts";

/** The session that a person means by a title, a handle or an id, or an error that lists what it could be. */
export async function findNamedSession(context: ChatCommandContext, text: string): Promise<Session> {
  const { session, candidates } = await matchSession(context.store, context.who, text);
  if (session !== undefined) return session;
  if (candidates.length === 0) {
    await refusePrivate(context, text);
    const what = `There is no session "${shortenLine(text, 60)}".`;
    throw new PostriderError("not_found", `${what} /sessions lists them, /search finds words in them.`);
  }
  // An error is plain text, wherever it is shown.
  const lines = candidates.map(({ handle, id, title }) => `  ${handle}  ${id}  ${title ?? ""}`.trimEnd());
  const candidatesToPick = candidates.map(({ id, handle, title }) => ({ id, handle, title: title ?? null }));
  throw new PostriderError("ambiguous", `That could be ${lines.length} sessions:\n${lines.join("\n")}`, {
    details: { candidates: candidatesToPick },
  });
}

/** Whose it is may know that it is there, and how to get at it; anyone else is told that there is none. */
async function refusePrivate({ store, who }: ChatCommandContext, text: string): Promise<void> {
  if (isEveryone(who) || who.chat === undefined) return;
  const { session } = await matchSession(store, { person: who.person }, text.replace(/\/\d{1,8}$/, ""));
  if (session === undefined) return;
  const why = "That session is private, and others read along in this chat.";
  throw new PostriderError("not_allowed", `${why} Resume it in a direct chat: /resume ${session.handle}`);
}

/** The number of a message that was said in the session, before anybody goes there. */
export function checkMessageSeq(session: Session, seq: number): number {
  if (seq >= 1 && seq <= session.messageCount) return seq;
  throw new PostriderError("not_found", `That session has no message ${seq}.`);
}

/** The newest sessions in which there is something to read, as many as asked for if there are so many. */
export async function listNewestSessions(
  { sessions, who }: Pick<ChatCommandContext, "sessions" | "who">,
  limit: number,
  fits: (session: ListedSession) => boolean = () => true,
  query: Pick<ListQuery, "kinds"> = {},
): Promise<readonly ListedSession[]> {
  const found: ListedSession[] = [];
  let cursor: string | undefined;
  do {
    const page = await sessions.list(who, {
      ...query,
      limit: 2 * limit,
      ...(cursor !== undefined && { cursor }),
    });
    found.push(...page.items.filter((session) => !isEmptySession(session) && fits(session)));
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < limit);
  return found.slice(0, limit);
}

/** A copy shows what it was copied from before anything is said in it. */
export function isEmptySession({
  messageCount,
  parent,
}: Pick<ListedSession, "messageCount" | "parent">): boolean {
  return messageCount === 0 && parent === undefined;
}
