import type { ListQuery } from "../../../core/listing.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, wrongArguments } from "../command.ts";
import { type Io, note, say, sayJson, widthOf } from "../io.ts";
import { asker, withStore } from "../opening.ts";
import { instantSince } from "../relative-time.ts";
import { styleOf } from "../style.ts";
import { KIND_OPTION, kindsOf, PLATFORM_OPTION, platformOf } from "./filters.ts";
import { sessionRows } from "./rows.ts";

const NAME = "sessions list";
const LIMIT = 20;
const MOST = 1000;

export const list: Command = defineCommand({
  name: NAME,
  about: "Your sessions, the latest first: handle, title or first words, platform, when, how many messages.",
  options: {
    limit: { type: "count", help: `how many (${LIMIT}; ${MOST} at most)` },
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
  run: ({ values }, io) => printList(io, values),
});

export interface ListValues {
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

export async function printList(io: Io, values: ListValues): Promise<void> {
  const query = queryOf(values, io.now());
  const { items, cursor } = await withStore(io, ({ store }) => store.list(query));
  for (const { handle, damaged } of items)
    if (damaged !== undefined)
      note(io, `${handle}: its ${damaged.join(" and ")} cannot be read; postrider doctor tells what to do.`);
  if (values.json) {
    const { sessionToJson } = await import("../../../core/json.ts");
    return sayJson(io, { sessions: items.map(sessionToJson), cursor: cursor ?? null });
  }
  if (items.length === 0) return note(io, nothing(values));
  const { dim } = styleOf(io);
  const rows = { width: widthOf(io), now: io.now(), everyone: values.everyone, heading: dim };
  say(io, sessionRows(items, rows).join("\n"));
  if (cursor !== undefined)
    note(io, dim(`More: the same command with --cursor ${cursor}, or a larger --limit`));
}

export function queryOf(values: ListValues, now: number): ListQuery {
  const { limit = LIMIT, since, cursor, titled, archived, all } = values;
  if (limit < 1 || limit > MOST)
    throw wrongArguments(`--limit must be from 1 to ${MOST}, not ${limit}`, NAME);
  return {
    asker: asker(values.everyone),
    limit,
    archived: all ? "both" : archived === true,
    ...platformOf(values.platform),
    ...kindsOf(values.kind, NAME),
    ...(since !== undefined && { activeSince: instantSince(since, now, NAME) }),
    ...(titled && { titled }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** Why the list is empty, and what to do about it. */
function nothing(values: ListValues): string {
  const { platform, kind, since, titled, archived, cursor } = values;
  if (cursor !== undefined) return "That was the last page.";
  if ([platform, kind, since].some((given) => given !== undefined) || titled) {
    return "No session is like that. Leave an option out to see more.";
  }
  if (archived) return "Nothing is archived. postrider sessions archive SESSION puts one away.";
  return "No sessions yet. Say something: postrider";
}
