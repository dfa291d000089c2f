import type { Db } from "../connection.ts";
import { JSON_COLUMNS, type JsonColumn, unreadable } from "../json-columns.ts";
import { count, type Finding, fine, fixable, problem } from "./findings.ts";
import type { MessageSurvey } from "./message-survey.ts";

/** So many rows of a column are named; more are counted. */
const MOST_NAMED = 5;
const RESTORE =
  "postrider restore brings back a copy in which it is whole; everything else can be used meanwhile.";

/** Names each table, column and row whose JSON cannot be read; of messages, what a survey has found. */
export function checkJson(db: Db, survey: Pick<MessageSurvey, "unreadable"> | undefined): Finding[] {
  const findings = JSON_COLUMNS.flatMap((column) => {
    const rows =
      column.table === "messages"
        ? (survey?.unreadable[column.column as "parts" | "meta"] ?? [])
        : unreadableRows(db, column);
    if (rows.length === 0) return [];
    const named = rows.slice(0, MOST_NAMED).join(", ") + (rows.length > MOST_NAMED ? ", …" : "");
    const text = `${column.table}.${column.column} cannot be read in ${count(rows.length, "row")}: ${named}.`;
    return [column.isReset ? fixable("json", text) : problem("json", text, RESTORE)];
  });
  return findings.length > 0 ? findings : [fine("json", "Everything that is stored as JSON can be read.")];
}

function unreadableRows(db: Db, column: JsonColumn): string[] {
  return db
    .rows(`select ${column.row} from ${column.table} where ${unreadable(column)}`)
    .map(([row]) => String(row));
}

/** Settings and what is derived become absent; messages and what is on its way are never touched. */
export function resetJson(db: Db): string | undefined {
  const done = JSON_COLUMNS.reduce((sum, column) => {
    if (!column.isReset) return sum;
    return (
      sum + db.run(`update ${column.table} set ${column.column} = null where ${unreadable(column)}`).changes
    );
  }, 0);
  return done === 0 ? undefined : `${count(done, "setting")} that could not be read set back.`;
}
