import { PostriderError } from "../../../core/errors.ts";
import type { Hit } from "../../../core/listing.ts";
import { ROLES, type Role } from "../../../core/message.ts";
import type { Asker } from "../../../core/owner.ts";
import { onOneLine, printable } from "../../../core/printable.ts";
import type { Store } from "../../../ports/store.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, wrongArguments } from "../command.ts";
import { type Io, note, say, sayJson } from "../io.ts";
import { asker, withStore } from "../opening.ts";
import { hitJson } from "../output-json.ts";
import { relativeTime } from "../relative-time.ts";
import { sessionArgument } from "../session-argument.ts";
import { type Style, styleOf } from "../style.ts";
import { KIND_OPTION, kindsOf, PLATFORM_OPTION, platformOf } from "./filters.ts";

const NAME = "sessions search";
const LIMIT = 20;
const MOST = 200;
/** What a search gives to the index after its answer. */
const INDEX_MS = 1000;

export const search: Command = defineCommand({
  name: NAME,
  takes: "WORDS…",
  words: [1, Number.POSITIVE_INFINITY],
  about: `Finds what was said, in any language. All words must be there; "a phrase" in its order; word* begins so;
one OR another; -word must not be there (after --). In scripts without spaces any part of a text is found.`,
  options: {
    limit: { type: "count", help: `how many (${LIMIT}; ${MOST} at most)` },
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
    const { limit = LIMIT } = values;
    if (limit < 1 || limit > MOST)
      throw wrongArguments(`--limit must be from 1 to ${MOST}, not ${limit}`, NAME);
    const who = asker(values.everyone);
    const roles = rolesOf(values.role);
    const kinds = kindsOf(values.kind, NAME);
    const { platform } = platformOf(values.platform);
    const { hits, left, database } = await withStore(io, async ({ home, store }) => {
      const request = {
        asker: who,
        text: words.join(" "),
        limit,
        ...kinds,
        ...roles,
        ...(platform !== undefined && { platforms: [platform] }),
        ...(values.undone && { undone: true }),
        ...(await within(store, who, values.session)),
      };
      const hits = await store.search(request);
      return { hits, left: await store.unsearched(request), database: home.database };
    });
    if (values.json) sayJson(io, { hits: hits.map(hitJson), complete: left === 0, unsearched: left });
    else if (hits.length === 0) note(io, nothing(values.undone));
    else printHits(io, hits, values.context);
    if (left > 0) await indexMore(io, database, left);
  },
});

/** What was found is printed by now. Each search brings the index further, also where nothing else runs that would. */
async function indexMore(io: Io, database: string, left: number): Promise<void> {
  note(io, `Older messages are still being indexed: ${left} were not searched. Search again in a while.`);
  const { indexRest } = await import("../../../stores/sqlite/upkeep/index-rest.ts");
  try {
    indexRest(database, { untilMs: INDEX_MS });
  } catch (error) {
    // The answer is printed; the next process indexes the rest.
    if (!(error instanceof PostriderError)) throw error;
  }
}

async function within(store: Store, who: Asker, name: string | undefined): Promise<{ session?: string }> {
  return name === undefined ? {} : { session: (await sessionArgument(store, who, name)).id };
}

function rolesOf(text: string | undefined): { roles?: readonly Role[] } {
  if (text === undefined) return {};
  const role = ROLES.find((known) => known === text);
  if (role === "user" || role === "assistant") return { roles: [role] };
  throw wrongArguments(
    `--role must be user or assistant, not "${text}": only what people wrote and read is searched`,
    NAME,
  );
}

function nothing(undone: boolean): string {
  const more = undone ? "" : " --undone looks at what was undone too.";
  return `Nothing found. Try fewer words, or the beginning of one with a star: ligh*.${more}`;
}

function printHits(io: Io, hits: readonly Hit[], context: boolean): void {
  const style = styleOf(io);
  const lines = hits.flatMap((hit) => {
    const title = hit.title === undefined ? "" : ` ${onOneLine(hit.title)}`;
    const about = [hit.platform, hit.role, relativeTime(hit.at, io.now())].filter(Boolean).join(" · ");
    return [
      `${style.bold(`${hit.handle}${title}`)} ${style.dim(`#${hit.seq} · ${about}`)}`,
      ...(context && hit.before !== undefined ? [beside(hit.before, style)] : []),
      ...indented(highlighted(printable(hit.snippet), style)),
      ...(context && hit.after !== undefined ? [beside(hit.after, style)] : []),
      style.dim(`  postrider sessions show ${hit.handle} --at ${hit.seq}`),
      "",
    ];
  });
  say(io, lines.join("\n").trimEnd());
}

function beside({ role, text }: { readonly role: string; readonly text: string }, style: Style): string {
  return style.dim(`  ${role}: ${onOneLine(text)}`);
}

/** Bold where there is colour; the marks themselves where there is none, so that a pipe keeps them. */
function highlighted(snippet: string, style: Style): string {
  if (!style.isOn) return snippet;
  return `${snippet.replaceAll(">>>", "\x1b[1m").replaceAll("<<<", "\x1b[22m")}\x1b[22m`;
}

function indented(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `  ${line}`);
}
