import { PostriderError } from "../../core/errors.ts";
import type { ListedSession, ListQuery, Page, Stats } from "../../core/listing.ts";
import type { Asker } from "../../core/owner.ts";
import { buildPreview } from "../../core/titles.ts";
import { countHeld, listShownPieces, type ViewState } from "../../core/view.ts";
import type { Db } from "./db.ts";
import { type SessionRow, toMessageId, toSession } from "./rows.ts";
import { firstUserTextSql } from "./statements/messages.ts";
import {
  buildCountByColumnSql,
  buildCountSessionsSql,
  buildOneOfCondition,
  buildSessionListSql,
  SESSION_CONDITIONS,
} from "./statements/session-lists.ts";
import { readView } from "./views.ts";
import { buildVisibleCondition } from "./visibility.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

export function querySessions(db: Db, input: ListQuery): Page<ListedSession> {
  const { where, values } = buildVisibleCondition(input.asker);
  const conditions = [where, SESSION_CONDITIONS.kept];
  const bound: unknown[] = [...values];
  const addCondition = (condition: string, ...more: readonly unknown[]): void => {
    conditions.push(condition);
    bound.push(...more);
  };
  if (input.activeSince !== undefined) addCondition(SESSION_CONDITIONS.activeSince, input.activeSince);
  if (input.platform !== undefined) addCondition(SESSION_CONDITIONS.platform, input.platform);
  if (input.owner !== undefined) addCondition(SESSION_CONDITIONS.owner, input.owner);
  if (input.kinds !== undefined)
    addCondition(buildOneOfCondition("kind", input.kinds.length), ...input.kinds);
  if (input.cwd !== undefined) addCondition(SESSION_CONDITIONS.cwd, input.cwd);
  if (input.titled === true) addCondition(SESSION_CONDITIONS.titled);
  if (input.used !== undefined)
    addCondition(input.used ? SESSION_CONDITIONS.used : SESSION_CONDITIONS.unused);
  if (input.archived !== "both")
    addCondition(input.archived === true ? SESSION_CONDITIONS.archived : SESSION_CONDITIONS.notArchived);
  if (input.cursor !== undefined) {
    const { lastAt, n } = parseCursor(input.cursor);
    addCondition(SESSION_CONDITIONS.beforeRow, lastAt, n);
  }
  const limit = Math.max(1, Math.min(MAX_LIMIT, input.limit ?? DEFAULT_LIMIT));
  const rows = db.all<SessionRow>(buildSessionListSql(conditions), ...bound, limit + 1);
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
      firstUserTextSql,
      toMessageId(piece.session, piece.from),
      toMessageId(piece.session, piece.to),
    );
    if (found !== undefined) return found.text ?? "";
  }
  return undefined;
}

export function getStats(db: Db, input: { asker: Asker }): Stats {
  const { where, values } = buildVisibleCondition(input.asker);
  const total = db.get<{ sessions: number; messages: number | null }>(
    buildCountSessionsSql(where),
    ...values,
  );
  return {
    sessions: total?.sessions ?? 0,
    messages: total?.messages ?? 0,
    byPlatform: countSessionsBy(db, input.asker, "platform"),
    byKind: countSessionsBy(db, input.asker, "kind"),
    byOwner: countSessionsBy(db, input.asker, "owner"),
    bytes: db.get<{ bytes: number }>(db.dialect.databaseSize)?.bytes ?? 0,
  };
}

function countSessionsBy(
  db: Db,
  asker: Asker,
  column: "platform" | "kind" | "owner",
): Record<string, number> {
  const { where, values } = buildVisibleCondition(asker);
  const counts = db.all<{ name: string | null; count: number }>(
    buildCountByColumnSql(column, where),
    ...values,
  );
  return Object.fromEntries(counts.map(({ name, count }) => [name ?? "none", count]));
}
