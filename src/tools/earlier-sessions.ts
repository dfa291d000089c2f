import type { Hit, ListedSession } from "../core/listing.ts";
import type { Role } from "../core/message.ts";
import { createSecretMask } from "../processes/masking.ts";
import { buildExcerpt } from "./build-excerpt.ts";
import { createSessionAncestry, type SessionAncestry } from "./session-ancestry.ts";
import type { ToolContext } from "./tool-context.ts";

/** As many as may be looked at for some that are not all in one session. */
const HITS = 50;
const MOST_HITS = 250;
/** What is said of one session, in characters. */
const LONGEST_EXCERPT = 6000;
/** In one session, more hits than these tell little more. */
const HITS_SHOWN = 4;

/** The newest, but for the current one and what came of it. */
export async function listRecentSessions(hands: ToolContext, limit: number): Promise<object> {
  const { store, asker, session: current } = hands;
  const lineage = createSessionAncestry(hands);
  const sessions: ListedSession[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.sessions.querySessions({
      asker,
      limit: 4 * limit,
      ...(cursor !== undefined && { cursor }),
    });
    for (const session of page.items)
      if (session.messageCount > 0 && !(await lineage.isDescendant(session.id, current)))
        sessions.push(session);
    cursor = page.cursor;
  } while (cursor !== undefined && sessions.length < limit);
  const results = sessions.slice(0, limit).map((session) => ({
    session_id: session.id,
    handle: session.handle,
    title: session.title ?? null,
    source: session.origin?.platform ?? null,
    started_at: toIsoTime(session.createdAt),
    last_active: toIsoTime(session.lastAt),
    message_count: session.messageCount,
    preview: createSecretMask(hands.secrets)(session.preview),
  }));
  return { success: true, mode: "recent", count: results.length, sessions_searched: results.length, results };
}

/** Those in which this was said, with what was said around it. */
export async function searchEarlierSessions(
  hands: ToolContext,
  query: string,
  roles: readonly Role[] | undefined,
  limit: number,
): Promise<object> {
  const { store, asker, secrets } = hands;
  const asked = { asker, text: query, ...(roles !== undefined && { roles }) };
  const lineage = createSessionAncestry(hands);
  const hits = [...(await store.messages.searchMessages({ ...asked, limit: HITS }))];
  let lines = await groupByRoot(hits, hands.session, lineage);
  if (lines.length < limit && hits.length === HITS) {
    hits.push(...(await store.messages.searchMessages({ ...asked, offset: HITS, limit: MOST_HITS - HITS })));
    lines = await groupByRoot(hits, hands.session, lineage);
  }
  const excerpting = { store, asker, query, mask: createSecretMask(secrets) };
  const results = await Promise.all(
    lines.slice(0, limit).map(async ([first, ...more]) => ({
      session_id: first.session,
      handle: first.handle,
      title: first.title ?? null,
      source: first.platform ?? null,
      when: toIsoTime(first.at),
      excerpts: await buildExcerpt([first, ...more].slice(0, HITS_SHOWN), excerpting, LONGEST_EXCERPT),
    })),
  );
  return {
    success: true,
    mode: "search",
    query,
    count: results.length,
    sessions_searched: lines.length,
    results,
    ...(roles?.every((role) => role === "tool" || role === "note") && {
      note: "Only what people and you said is searched, not what tools gave back.",
    }),
  };
}

/** The hits by the session from which all that show them were forked, the best first; none of the current one. */
async function groupByRoot(
  hits: readonly Hit[],
  current: string,
  lineage: SessionAncestry,
): Promise<readonly (readonly [Hit, ...Hit[]])[]> {
  const here = await lineage.findRoot(current);
  const lines = new Map<string, [Hit, ...Hit[]]>();
  for (const hit of hits) {
    const root = await lineage.findRoot(hit.session);
    const line = lines.get(root);
    if (line !== undefined) line.push(hit);
    else if (root !== here) lines.set(root, [hit]);
  }
  return [...lines.values()];
}

function toIsoTime(at: number): string {
  return new Date(at).toISOString();
}
