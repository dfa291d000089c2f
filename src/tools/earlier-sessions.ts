import type { Hit, ListedSession } from "../core/listing.ts";
import type { Role } from "../core/message.ts";
import { createSecretMask } from "../processes/masking.ts";
import { buildExcerpt } from "./build-excerpt.ts";
import { createSessionAncestry, type SessionAncestry } from "./session-ancestry.ts";
import type { ToolContext } from "./tool-context.ts";

/** The maximum number of hits to read, to find more than one session. */
const HITS = 50;
const MAX_HITS = 250;
/** The maximum length of the excerpts of one session. */
const MAX_EXCERPT_LENGTH = 6000;
/** The maximum number of shown hits of one session. */
const HITS_SHOWN = 4;

/** Lists the newest sessions, without the current one and its forks. */
export async function listRecentSessions(context: ToolContext, limit: number): Promise<object> {
  const { store, asker, session: current } = context;
  const lineage = createSessionAncestry(context);
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
    preview: createSecretMask(context.secrets)(session.preview),
  }));
  return { success: true, mode: "recent", count: results.length, sessions_searched: results.length, results };
}

/** Finds sessions by text, with excerpts. */
export async function searchEarlierSessions(
  context: ToolContext,
  query: string,
  roles: readonly Role[] | undefined,
  limit: number,
): Promise<object> {
  const { store, asker, secrets } = context;
  const filter = { asker, text: query, ...(roles !== undefined && { roles }) };
  const lineage = createSessionAncestry(context);
  const hits = [...(await store.messages.searchMessages({ ...filter, limit: HITS }))];
  let lines = await groupByRoot(hits, context.session, lineage);
  if (lines.length < limit && hits.length === HITS) {
    hits.push(...(await store.messages.searchMessages({ ...filter, offset: HITS, limit: MAX_HITS - HITS })));
    lines = await groupByRoot(hits, context.session, lineage);
  }
  const excerpting = { store, asker, query, mask: createSecretMask(secrets) };
  const results = await Promise.all(
    lines.slice(0, limit).map(async ([first, ...more]) => ({
      session_id: first.session,
      handle: first.handle,
      title: first.title ?? null,
      source: first.platform ?? null,
      when: toIsoTime(first.at),
      excerpts: await buildExcerpt([first, ...more].slice(0, HITS_SHOWN), excerpting, MAX_EXCERPT_LENGTH),
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
      note: "The search covers messages of people and of you, not tool results.",
    }),
  };
}

/** Groups the hits by the original session of their forks, best first, without the current session. */
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
