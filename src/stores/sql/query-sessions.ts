import { PostriderError } from "../../core/errors.ts";
import type { ListedSession, ListQuery, Page, Stats } from "../../core/listing.ts";
import type { Asker } from "../../core/owner.ts";
import { buildPreview } from "../../core/titles.ts";
import { countHeld, listShownPieces, type ViewState } from "../../core/view.ts";
import type { Db } from "./db.ts";
import { type SessionRow, toMessageId, toSession } from "./rows.ts";
import { readView } from "./views.ts";
import { buildVisibleCondition } from "./visibility.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;
const USED_CONDITION = "(s.next_seq > 1 or s.title is not null or s.parent is not null)";

export function querySessions(db: Db, input: ListQuery): Page<ListedSession> {
  const { where, values } = buildVisibleCondition(input.asker);
  const conditions = [where, "s.removed_at is null"];
  const bound: unknown[] = [...values];
  const addCondition = (condition: string, ...more: readonly unknown[]): void => {
    conditions.push(condition);
    bound.push(...more);
  };
  if (input.activeSince !== undefined) addCondition("s.last_at >= ?", input.activeSince);
  if (input.platform !== undefined) addCondition("s.platform = ?", input.platform);
  if (input.owner !== undefined) addCondition("s.owner = ?", input.owner);
  if (input.kinds !== undefined)
    addCondition(`s.kind in (${input.kinds.map(() => "?").join(", ") || "null"})`, ...input.kinds);
  if (input.cwd !== undefined) addCondition("s.cwd = ?", input.cwd);
  if (input.titled === true) addCondition("s.title is not null");
  if (input.used !== undefined) addCondition(input.used ? USED_CONDITION : `not ${USED_CONDITION}`);
  if (input.archived !== "both")
    addCondition(input.archived === true ? "s.archived_at is not null" : "s.archived_at is null");
  if (input.cursor !== undefined) {
    const { lastAt, n } = parseCursor(input.cursor);
    addCondition("(s.last_at, s.n) < (?, ?)", lastAt, n);
  }
  const limit = Math.max(1, Math.min(MAX_LIMIT, input.limit ?? DEFAULT_LIMIT));
  const rows = db.all<SessionRow>(
    // First only the numbers: sorting them takes a third of the time of sorting whole rows.
    `select * from sessions where n in (select s.n from sessions s where ${conditions.join(" and ")}
       order by s.last_at desc, s.n desc limit ?) order by last_at desc, n desc`,
    ...bound,
    limit + 1,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    items: page.map((row) => toListed(db, row)),
    ...(rows.length > limit && last !== undefined && { cursor: `${last.last_at}.${last.n}` }),
  };
}

function parseCursor(cursor: string): { lastAt: number; n: number } {
  const match = /^(\d{1,15})\.(\d{1,10})$/.exec(cursor);
  if (match === null) {
    throw new PostriderError("invalid_input", "The cursor is not from a page of this list.", {
      details: { field: "cursor" },
    });
  }
  return { lastAt: Number(match[1]), n: Number(match[2]) };
}

function toListed(db: Db, row: SessionRow): ListedSession {
  const view = readView(db, row);
  return {
    ...toSession(row),
    preview: buildPreview(findFirstUserText(db, view)),
    totalCount: countHeld(view),
  };
}

/** The first user message that the session shows. */
function findFirstUserText(db: Db, view: ViewState): string | undefined {
  for (const piece of listShownPieces(view)) {
    const found = db.get<{ text: string | null }>(
      "select substr(text, 1, 200) as text from messages where id between ? and ? and role = 0 order by id limit 1",
      toMessageId(piece.session, piece.from),
      toMessageId(piece.session, piece.to),
    );
    if (found !== undefined) return found.text ?? "";
  }
  return undefined;
}

export function getStats(db: Db, input: { asker: Asker }): Stats {
  const { where, values } = buildVisibleCondition(input.asker);
  const from = `from sessions s where ${where} and s.removed_at is null`;
  const total = db.get<{ sessions: number; messages: number | null }>(
    `select count(*) as sessions, sum(s.next_seq - 1) as messages ${from}`,
    ...values,
  );
  const countBy = (column: string): Record<string, number> =>
    Object.fromEntries(
      db
        .all<{ name: string | null; count: number }>(
          `select s.${column} as name, count(*) as count ${from} group by 1 order by 1`,
          ...values,
        )
        .map(({ name, count }) => [name ?? "none", count]),
    );
  return {
    sessions: total?.sessions ?? 0,
    messages: total?.messages ?? 0,
    byPlatform: countBy("platform"),
    byKind: countBy("kind"),
    byOwner: countBy("owner"),
    bytes: db.get<{ bytes: number }>(db.dialect.databaseSize)?.bytes ?? 0,
  };
}
