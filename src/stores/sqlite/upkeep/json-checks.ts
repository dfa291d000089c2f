import type { SqliteDb } from "../connection.ts";
import { type Finding, formatCount, reportFixable, reportOk, reportProblem } from "./findings.ts";
import { buildUnreadableCondition, JSON_COLUMNS, type JsonColumn } from "./json-columns.ts";
import type { MessageSurvey } from "./message-survey.ts";

/** The maximum number of rows of a column that are listed; more are counted. */
const MAX_NAMED_ROWS = 5;
const RESTORE_HINT = "Restore an intact copy with postrider restore; everything else can be used meanwhile.";

/** Lists each table, column and row with unreadable JSON; for messages, from the survey. */
export function checkJson(db: SqliteDb, survey: Pick<MessageSurvey, "unreadable"> | undefined): Finding[] {
  const findings = JSON_COLUMNS.flatMap((column) => {
    const rows =
      column.table === "messages"
        ? (survey?.unreadable[column.column as "parts" | "meta"] ?? [])
        : listUnreadableRows(db, column);
    if (rows.length === 0) return [];
    const named = rows.slice(0, MAX_NAMED_ROWS).join(", ") + (rows.length > MAX_NAMED_ROWS ? ", …" : "");
    const text = `${column.table}.${column.column} is not readable in ${formatCount(rows.length, "row")}: ${named}.`;
    return [column.isResettable ? reportFixable("json", text) : reportProblem("json", text, RESTORE_HINT)];
  });
  return findings.length > 0 ? findings : [reportOk("json", "All stored JSON is readable.")];
}

function listUnreadableRows(db: SqliteDb, column: JsonColumn): string[] {
  return db
    .rows(`select ${column.row} from ${column.table} where ${buildUnreadableCondition(column)}`)
    .map(([row]) => String(row));
}

/** Resets settings and derived data; messages, the inbox and the outbox are never changed. */
export function resetUnreadableJson(db: SqliteDb): string | undefined {
  const done = JSON_COLUMNS.reduce((sum, column) => {
    if (!column.isResettable) return sum;
    return (
      sum +
      db.run(`update ${column.table} set ${column.column} = null where ${buildUnreadableCondition(column)}`)
    );
  }, 0);
  return done === 0 ? undefined : `${formatCount(done, "unreadable setting")} reset.`;
}
