import type { ListedSession, ListQuery } from "../core/listing.ts";
import type { ChatCommandContext } from "./command.ts";

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
