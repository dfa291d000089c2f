import type { Hit } from "../core/listing.ts";
import { getText, type Message } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import { parseQuery } from "../core/search-query.ts";
import { buildSnippet } from "../core/snippet.ts";
import type { Store } from "../ports/store.ts";

/** The number of messages before and after a hit. */
const CONTEXT_MESSAGES = 3;
/** The maximum length of a hit and of the messages around it. */
const MAX_HIT_LENGTH = 1500;
const MAX_OTHER_LENGTH = 800;
const MAX_OUTPUT_LENGTH = 500;

export interface ExcerptOptions {
  readonly store: Store;
  readonly asker: Asker;
  readonly query: string;
  mask(text: string): string;
}

/** Builds an excerpt of the messages around the hits of a session, in order, without duplicates, up to a length. */
export async function buildExcerpt(
  hits: readonly Hit[],
  { store, asker, query, mask }: ExcerptOptions,
  longest: number,
): Promise<string> {
  const shown = new Map<string, readonly string[]>();
  const seen = new Set<string>();
  let room = longest;
  for (const hit of hits) {
    const lines: string[] = [];
    const isHit = createHitTest(hit, query);
    for (const message of await readSurroundingMessages(store, asker, hit, isHit)) {
      const name = `${message.session}/${message.seq}`;
      if (seen.has(name)) continue;
      const line = formatMessage(message, isHit(message) ? query : undefined, mask);
      if (line.length > room) break;
      room -= line.length;
      seen.add(name);
      lines.push(line);
    }
    if (lines.length > 0) shown.set(`${hit.session}/${hit.seq}`, lines);
  }
  return [...shown.values()].map((lines) => lines.join("\n")).join("\n...\n");
}

/** The visible messages around a hit: of its own session, or those that a fork shows of its origin. */
async function readSurroundingMessages(
  store: Store,
  asker: Asker,
  { session, seq }: Hit,
  isHit: (message: Message) => boolean,
): Promise<readonly Message[]> {
  const ask = { asker, session };
  const shape = await store.messages.getViewRanges(ask);
  if (shape === undefined) return [];
  const limit = 2 * CONTEXT_MESSAGES + 1;
  const own =
    (await store.messages.listMessages({ ...ask, after: Math.max(0, seq - CONTEXT_MESSAGES - 1), limit })) ??
    [];
  const isTakenBack = (at: number): boolean => shape.hidden.some(({ from, to }) => from <= at && at <= to);
  const kept = own.filter((message) => !isTakenBack(message.seq));
  if (kept.some(isHit)) return kept;
  let offset = 0;
  for (const piece of shape.pieces) {
    if (piece.session !== session && piece.from <= seq && seq <= piece.to) {
      const from = Math.max(0, offset + seq - piece.from - CONTEXT_MESSAGES);
      const shown = (await store.messages.readHistory({ ...ask, offset: from, limit })) ?? [];
      if (shown.some(isHit)) return shown;
    }
    offset += piece.to - piece.from + 1;
  }
  return [];
}

/** A fork and its origin may both have the seq of a hit; the snippet tells them apart. */
function createHitTest({ seq, at, snippet: found }: Hit, query: string): (message: Message) => boolean {
  const request = parseQuery(query);
  return (message) =>
    message.seq === seq && message.at === at && buildSnippet(getText(message), request) === found;
}

function formatMessage(message: Message, query: string | undefined, mask: (text: string) => string): string {
  const { role, toolName, toolCalls = [] } = message;
  const content = mask(getText(message)).trim();
  const calls = toolCalls.length === 0 ? "" : ` [called: ${toolCalls.map(({ name }) => name).join(", ")}]`;
  const name = role === "tool" && toolName !== undefined ? `TOOL:${toolName}` : role.toUpperCase();
  return `[${name}]: ${shortenMessage(content, role, query)}${calls}`;
}

function shortenMessage(content: string, role: Message["role"], query: string | undefined): string {
  if (query !== undefined && content.length > MAX_HIT_LENGTH)
    return buildSnippet(content, parseQuery(query), { words: MAX_HIT_LENGTH, chars: MAX_HIT_LENGTH });
  if (role === "tool" && content.length > MAX_OUTPUT_LENGTH)
    return keepBothEnds(content, MAX_OUTPUT_LENGTH / 2);
  const most = query === undefined ? MAX_OTHER_LENGTH : MAX_HIT_LENGTH;
  return content.length <= most ? content : `${dropHalfPairs(content.slice(0, most))}...`;
}

function keepBothEnds(content: string, length: number): string {
  return `${dropHalfPairs(content.slice(0, length))}\n[...]\n${dropHalfPairs(content.slice(-length))}`;
}

/** Removes half of a surrogate pair at either end. */
function dropHalfPairs(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, "").replace(/[\uD800-\uDBFF]$/, "");
}
