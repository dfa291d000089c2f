import type { ListQuery } from "../../../core/listing.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, usageError } from "../command.ts";
import { parseSince } from "../format-time.ts";
import { getOutputWidth, type Io, printJson, printLine, printNotice } from "../io.ts";
import { toAsker, withStore } from "../open-home.ts";
import { createStyle } from "../style.ts";
import { KIND_OPTION, PLATFORM_OPTION, parseKinds, parsePlatform } from "./filters.ts";
import { formatSessionRows } from "./session-rows.ts";

const NAME = "sessions list";
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

export const listSessionsCommand: Command = defineCommand({
  name: NAME,
  about:
    "Lists your sessions, newest first: handle, title or first words, platform, last activity, number of messages.",
  options: {
    limit: { type: "count", help: `the number of sessions (default ${DEFAULT_LIMIT}, at most ${MAX_LIMIT})` },
    platform: PLATFORM_OPTION,
    kind: KIND_OPTION,
    since: {
      type: "text",
      value: "WHEN",
      help: "only sessions active since: 30m, 12h, 7d, 2w or 2026-03-15",
    },
    titled: { type: "flag", help: "only sessions with a title" },
    archived: { type: "flag", help: "only archived sessions" },
    all: { type: "flag", help: "include archived sessions" },
    cursor: {
      type: "text",
      value: "CURSOR",
      help: "the next page: the cursor that the previous page printed",
    },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions list", "the newest 20"],
    ["postrider sessions list --since 7d --platform telegram", "this week, from Telegram"],
    ["postrider sessions list --everyone --all --json", "everything, for a script"],
  ],
  run: ({ values }, io) => printSessionList(io, values),
});

export interface SessionListOptions {
  readonly limit?: number | undefined;
  readonly platform?: string | undefined;
  readonly kind?: string | undefined;
  readonly since?: string | undefined;
  readonly cursor?: string | undefined;
  readonly titled?: boolean;
  readonly archived?: boolean;
  readonly all?: boolean;
  readonly everyone: boolean;
  readonly json?: boolean;
}

export async function printSessionList(io: Io, values: SessionListOptions): Promise<void> {
  const query = buildListQuery(values, io.now());
  const { items, cursor } = await withStore(io, ({ store }) => store.sessions.querySessions(query));
  for (const { handle, damaged } of items)
    if (damaged !== undefined)
      printNotice(io, `${handle}: its ${damaged.join(" and ")} cannot be read; run postrider doctor.`);
  if (values.json) {
    const { sessionToJson } = await import("../../../core/json.ts");
    return printJson(io, { sessions: items.map(sessionToJson), cursor: cursor ?? null });
  }
  if (items.length === 0) return printNotice(io, describeEmptyList(values));
  const { dim } = createStyle(io);
  const rows = { width: getOutputWidth(io), now: io.now(), everyone: values.everyone, heading: dim };
  printLine(io, formatSessionRows(items, rows).join("\n"));
  if (cursor !== undefined) printNotice(io, dim(`For more, add --cursor ${cursor} or use a larger --limit`));
}

export function buildListQuery(values: SessionListOptions, now: number): ListQuery {
  const { limit = DEFAULT_LIMIT, since, cursor, titled, archived, all } = values;
  if (limit < 1 || limit > MAX_LIMIT)
    throw usageError(`--limit must be from 1 to ${MAX_LIMIT}, not ${limit}`, NAME);
  return {
    asker: toAsker(values.everyone),
    limit,
    archived: all ? "both" : archived === true,
    ...parsePlatform(values.platform),
    ...parseKinds(values.kind, NAME),
    ...(since !== undefined && { activeSince: parseSince(since, now, NAME) }),
    ...(titled && { titled }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** Explains why the list is empty. */
function describeEmptyList(values: SessionListOptions): string {
  const { platform, kind, since, titled, archived, cursor } = values;
  if (cursor !== undefined) return "There are no more pages.";
  if ([platform, kind, since].some((given) => given !== undefined) || titled) {
    return "No session matches. Use fewer options to see more.";
  }
  if (archived) return "No session is archived. To archive one: postrider sessions archive SESSION";
  return "There are no sessions yet. Start one with: postrider";
}
