import type { Hit, Listed } from "../core/listing.ts";
import { ROLES, type Role, text } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { maskedBy } from "../processes/masking.ts";
import { excerpt } from "./excerpt.ts";
import { givenIn, textIn } from "./given.ts";
import type { Hands } from "./hands.ts";
import { type Lineage, lineageFor } from "./lineage.ts";

const DEFAULT_SESSIONS = 3;
const MOST_SESSIONS = 5;
/** As many as may be looked at for some that are not all in one session. */
const HITS = 50;
const MOST_HITS = 250;
/** What is said of one session, in characters. */
const LONGEST_EXCERPT = 6000;
/** In one session, more hits than these tell little more. */
const HITS_SHOWN = 4;

export function sessionSearchTool(hands: Hands): Tool {
  const isGroup = "chat" in hands.asker && hands.asker.chat !== undefined;
  return {
    name: "session_search",
    description: [
      isGroup
        ? "Finds what was said in earlier sessions of this chat, and in no other."
        : "Finds what was said in earlier sessions of the person you talk with.",
      "With a query, gives excerpts: the messages around what was found, word for word, of a few sessions. Nobody sums them up; search again with other words if they do not tell enough.",
      'All words must stand in one message; "a phrase", word*, OR and -word work, too.',
      "Without a query, lists the newest sessions.",
    ].join(" "),
    input: {
      type: "object",
      properties: {
        query: { type: "string", description: "What to look for; blank lists the newest sessions." },
        role_filter: {
          type: "string",
          description: "Only what these said, with commas between: user, assistant.",
        },
        limit: {
          type: ["number", "string"],
          description: `How many sessions: ${DEFAULT_SESSIONS} unless given, ${MOST_SESSIONS} at most.`,
        },
      },
      additionalProperties: false,
    },
    effect: "none",
    async run(value) {
      const given = givenIn(value);
      const query = (textIn(given, "query") ?? "").trim();
      const limit = limitIn(given.limit);
      const answer = await (query === ""
        ? recent(hands, limit)
        : found(hands, query, rolesIn(textIn(given, "role_filter")), limit));
      return { parts: [text(JSON.stringify(answer, null, 2))] } satisfies ToolOutput;
    },
  };
}

/** Whatever it was given as: something is always shown, and never too much. */
function limitIn(given: unknown): number {
  const number = typeof given === "string" && given.trim() !== "" ? Number(given) : given;
  if (typeof number !== "number" || Number.isNaN(number)) return DEFAULT_SESSIONS;
  return Math.max(1, Math.min(MOST_SESSIONS, Math.trunc(number)));
}

/** Names that are none are passed over; if nothing is left of them, everybody's words count. */
function rolesIn(given: string | undefined): readonly Role[] | undefined {
  const names = (given ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const roles = ROLES.filter((role) => names.includes(role));
  return roles.length === 0 ? undefined : roles;
}

async function recent(hands: Hands, limit: number): Promise<object> {
  const { store, asker, session: current } = hands;
  const lineage = lineageFor(hands);
  const sessions: Listed[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ asker, limit: 4 * limit, ...(cursor !== undefined && { cursor }) });
    for (const session of page.items)
      if (session.messageCount > 0 && !(await lineage.descends(session.id, current))) sessions.push(session);
    cursor = page.cursor;
  } while (cursor !== undefined && sessions.length < limit);
  const results = sessions.slice(0, limit).map((session) => ({
    session_id: session.id,
    handle: session.handle,
    title: session.title ?? null,
    source: session.origin?.platform ?? null,
    started_at: instant(session.createdAt),
    last_active: instant(session.lastAt),
    message_count: session.messageCount,
    preview: maskedBy(hands.secrets)(session.preview),
  }));
  return { success: true, mode: "recent", count: results.length, sessions_searched: results.length, results };
}

async function found(
  hands: Hands,
  query: string,
  roles: readonly Role[] | undefined,
  limit: number,
): Promise<object> {
  const { store, asker, secrets } = hands;
  const asked = { asker, text: query, ...(roles !== undefined && { roles }) };
  const lineage = lineageFor(hands);
  const hits = [...(await store.search({ ...asked, limit: HITS }))];
  let lines = await byRoot(hits, hands.session, lineage);
  if (lines.length < limit && hits.length === HITS) {
    hits.push(...(await store.search({ ...asked, offset: HITS, limit: MOST_HITS - HITS })));
    lines = await byRoot(hits, hands.session, lineage);
  }
  const excerpting = { store, asker, query, mask: maskedBy(secrets) };
  const results = await Promise.all(
    lines.slice(0, limit).map(async ([first, ...more]) => ({
      session_id: first.session,
      handle: first.handle,
      title: first.title ?? null,
      source: first.platform ?? null,
      when: instant(first.at),
      excerpts: await excerpt([first, ...more].slice(0, HITS_SHOWN), excerpting, LONGEST_EXCERPT),
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
async function byRoot(
  hits: readonly Hit[],
  current: string,
  lineage: Lineage,
): Promise<readonly (readonly [Hit, ...Hit[]])[]> {
  const here = await lineage.rootOf(current);
  const lines = new Map<string, [Hit, ...Hit[]]>();
  for (const hit of hits) {
    const root = await lineage.rootOf(hit.session);
    const line = lines.get(root);
    if (line !== undefined) line.push(hit);
    else if (root !== here) lines.set(root, [hit]);
  }
  return [...lines.values()];
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
