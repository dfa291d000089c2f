import { PostriderError } from "../../../core/errors.ts";
import type { Hit } from "../../../core/listing.ts";
import { ROLES, type Role } from "../../../core/message.ts";
import type { Asker } from "../../../core/owner.ts";
import { toOneLine, toPrintable } from "../../../core/printable.ts";
import type { Store } from "../../../ports/store.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, usageError } from "../command.ts";
import { formatRelativeTime } from "../format-time.ts";
import { type Io, printJson, printLine, printNotice } from "../io.ts";
import { toAsker, withStore } from "../open-home.ts";
import { formatHitJson } from "../output-json.ts";
import { resolveSessionArgument } from "../session-argument.ts";
import { createStyle, type Style } from "../style.ts";
import { KIND_OPTION, PLATFORM_OPTION, parseKinds, parsePlatform } from "./filters.ts";

const NAME = "sessions search";
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 200;
/** What a search gives to the index after its answer. */
const INDEX_MS = 1000;

export const searchSessionsCommand: Command = defineCommand({
  name: NAME,
  takes: "WORDS…",
  words: [1, Number.POSITIVE_INFINITY],
  about: `Finds what was said, in any language. All words must be there; "a phrase" in its order; word* begins so;
one OR another; -word must not be there (after --). In scripts without spaces any part of a text is found.`,
  options: {
    limit: { type: "count", help: `how many (${DEFAULT_LIMIT}; ${MAX_LIMIT} at most)` },
    session: { type: "text", value: "SESSION", help: "only in this session" },
    platform: PLATFORM_OPTION,
    kind: KIND_OPTION,
    role: { type: "text", value: "ROLE", help: "only what they said: user or assistant" },
    undone: { type: "flag", help: "also what was undone" },
    context: { type: "flag", help: "what was said just before and after" },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions search lighthouse walk", "both words"],
    ["postrider sessions search '\"every answer\" OR 夜景'", "a phrase, or a part of a Japanese text"],
    ["postrider sessions search --role user -- deploy -staging", "deploy without staging"],
  ],
  async run({ words, values }, io) {
    const { limit = DEFAULT_LIMIT } = values;
    if (limit < 1 || limit > MAX_LIMIT)
      throw usageError(`--limit must be from 1 to ${MAX_LIMIT}, not ${limit}`, NAME);
    const who = toAsker(values.everyone);
    const roles = parseRoles(values.role);
    const kinds = parseKinds(values.kind, NAME);
    const { platform } = parsePlatform(values.platform);
    const { hits, left, database } = await withStore(io, async ({ home, store }) => {
      const request = {
        asker: who,
        text: words.join(" "),
        limit,
        ...kinds,
        ...roles,
        ...(platform !== undefined && { platforms: [platform] }),
        ...(values.undone && { undone: true }),
        ...(await resolveSessionFilter(store, who, values.session)),
      };
      const hits = await store.messages.searchMessages(request);
      return { hits, left: await store.messages.countUnindexed(request), database: home.database };
    });
    if (values.json) printJson(io, { hits: hits.map(formatHitJson), complete: left === 0, unsearched: left });
    else if (hits.length === 0) printNotice(io, describeNoHits(values.undone));
    else printHits(io, hits, values.context);
    if (left > 0) await indexMore(io, database, left);
  },
});

/** What was found is printed by now. Each search brings the index further, also where nothing else runs that would. */
async function indexMore(io: Io, database: string, left: number): Promise<void> {
  printNotice(
    io,
    `Older messages are still being indexed: ${left} were not searched. Search again in a while.`,
  );
  const { indexPending: indexRest } = await import("../../../stores/sqlite/upkeep/index-pending.ts");
  try {
    indexRest(database, { untilMs: INDEX_MS });
  } catch (error) {
    // The answer is printed; the next process indexes the rest.
    if (!(error instanceof PostriderError)) throw error;
  }
}

async function resolveSessionFilter(
  store: Store,
  who: Asker,
  name: string | undefined,
): Promise<{ session?: string }> {
  return name === undefined ? {} : { session: (await resolveSessionArgument(store, who, name)).id };
}

function parseRoles(text: string | undefined): { roles?: readonly Role[] } {
  if (text === undefined) return {};
  const role = ROLES.find((known) => known === text);
  if (role === "user" || role === "assistant") return { roles: [role] };
  throw usageError(
    `--role must be user or assistant, not "${text}": only what people wrote and read is searched`,
    NAME,
  );
}

function describeNoHits(undone: boolean): string {
  const more = undone ? "" : " --undone looks at what was undone too.";
  return `Nothing found. Try fewer words, or the beginning of one with a star: ligh*.${more}`;
}

function printHits(io: Io, hits: readonly Hit[], context: boolean): void {
  const style = createStyle(io);
  const lines = hits.flatMap((hit) => {
    const title = hit.title === undefined ? "" : ` ${toOneLine(hit.title)}`;
    const about = [hit.platform, hit.role, formatRelativeTime(hit.at, io.now())].filter(Boolean).join(" · ");
    return [
      `${style.bold(`${hit.handle}${title}`)} ${style.dim(`#${hit.seq} · ${about}`)}`,
      ...(context && hit.before !== undefined ? [formatNeighbour(hit.before, style)] : []),
      ...indentLines(highlightSnippet(toPrintable(hit.snippet), style)),
      ...(context && hit.after !== undefined ? [formatNeighbour(hit.after, style)] : []),
      style.dim(`  postrider sessions show ${hit.handle} --at ${hit.seq}`),
      "",
    ];
  });
  printLine(io, lines.join("\n").trimEnd());
}

function formatNeighbour(
  { role, text }: { readonly role: string; readonly text: string },
  style: Style,
): string {
  return style.dim(`  ${role}: ${toOneLine(text)}`);
}

/** Bold where there is colour; the marks themselves where there is none, so that a pipe keeps them. */
function highlightSnippet(snippet: string, style: Style): string {
  if (!style.isOn) return snippet;
  return `${snippet.replaceAll(">>>", "\x1b[1m").replaceAll("<<<", "\x1b[22m")}\x1b[22m`;
}

function indentLines(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `  ${line}`);
}
