import type { Listed, ListQuery } from "../core/listing.ts";
import type { Place } from "./command.ts";

/** The newest sessions in which there is something to read, as many as asked for if there are so many. */
export async function newestSessions(
  { sessions, who }: Pick<Place, "sessions" | "who">,
  limit: number,
  fits: (session: Listed) => boolean = () => true,
  query: Pick<ListQuery, "kinds"> = {},
): Promise<readonly Listed[]> {
  const found: Listed[] = [];
  let cursor: string | undefined;
  do {
    const page = await sessions.list(who, {
      ...query,
      limit: 2 * limit,
      ...(cursor !== undefined && { cursor }),
    });
    found.push(...page.items.filter((session) => !isEmpty(session) && fits(session)));
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < limit);
  return found.slice(0, limit);
}

/** A copy shows what it was copied from before anything is said in it. */
export function isEmpty({ messageCount, parent }: Pick<Listed, "messageCount" | "parent">): boolean {
  return messageCount === 0 && parent === undefined;
}
