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
  about: "Your sessions, the latest first: handle, title or first words, platform, when, how many messages.",
  options: {
    limit: { type: "count", help: `how many (${DEFAULT_LIMIT}; ${MAX_LIMIT} at most)` },
    platform: PLATFORM_OPTION,
    kind: KIND_OPTION,
    since: { type: "text", value: "WHEN", help: "only those used since: 30m, 12h, 7d, 2w or 2026-03-15" },
    titled: { type: "flag", help: "only those with a title" },
    archived: { type: "flag", help: "only the archived ones" },
    all: { type: "flag", help: "archived ones too" },
    cursor: { type: "text", value: "CURSOR", help: "the next page: what the page before ended with" },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions list", "the latest 20"],
    ["postrider sessions list --since 7d --platform telegram", "this week's from Telegram"],
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
      printNotice(
        io,
        `${handle}: its ${damaged.join(" and ")} cannot be read; postrider doctor tells what to do.`,
      );
  if (values.json) {
    const { sessionToJson } = await import("../../../core/json.ts");
    return printJson(io, { sessions: items.map(sessionToJson), cursor: cursor ?? null });
  }
  if (items.length === 0) return printNotice(io, describeEmptyList(values));
  const { dim } = createStyle(io);
  const rows = { width: getOutputWidth(io), now: io.now(), everyone: values.everyone, heading: dim };
  printLine(io, formatSessionRows(items, rows).join("\n"));
  if (cursor !== undefined)
    printNotice(io, dim(`More: the same command with --cursor ${cursor}, or a larger --limit`));
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

/** Why the list is empty, and what to do about it. */
function describeEmptyList(values: SessionListOptions): string {
  const { platform, kind, since, titled, archived, cursor } = values;
  if (cursor !== undefined) return "That was the last page.";
  if ([platform, kind, since].some((given) => given !== undefined) || titled) {
    return "No session is like that. Leave an option out to see more.";
  }
  if (archived) return "Nothing is archived. postrider sessions archive SESSION puts one away.";
  return "No sessions yet. Say something: postrider";
}
