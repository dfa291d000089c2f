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
/** The time that a search spends on the index after its result. */
const INDEX_MS = 1000;

export const searchSessionsCommand: Command = defineCommand({
  name: NAME,
  takes: "WORDS…",
  words: [1, Number.POSITIVE_INFINITY],
  about: `Finds messages that contain all words, in any language. The query can contain "a phrase", word* for a prefix, OR, and
-word to exclude a word (after --). In scripts without spaces it finds any part of a text.`,
  options: {
    limit: { type: "count", help: `the number of hits (default ${DEFAULT_LIMIT}, at most ${MAX_LIMIT})` },
    session: { type: "text", value: "SESSION", help: "only in this session" },
    platform: PLATFORM_OPTION,
    kind: KIND_OPTION,
    role: { type: "text", value: "ROLE", help: "only messages of this role: user or assistant" },
    undone: { type: "flag", help: "include undone messages" },
    context: { type: "flag", help: "show the messages before and after each hit" },
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

/** After printing the result, each search indexes some older messages, even if no gateway runs. */
async function indexMore(io: Io, database: string, left: number): Promise<void> {
  printNotice(io, `The index is not complete: ${left} older messages were not searched. Try again later.`);
  const { indexPending } = await import("../../../stores/sqlite/upkeep/index-pending.ts");
  try {
    indexPending(database, { untilMs: INDEX_MS });
  } catch (error) {
    // The result is printed already; the next process indexes the rest.
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
  throw usageError(`--role must be user or assistant, not "${text}": other messages are not searched`, NAME);
}

function describeNoHits(undone: boolean): string {
  const more = undone ? "" : " --undone includes undone messages.";
  return `No message matches. Try fewer words, or a prefix with a star: ligh*.${more}`;
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

/** Bold on a terminal with colours; otherwise the marks, so that a pipe keeps them. */
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
