/** A column whose text is JSON. */
export interface JsonColumn {
  readonly table: string;
  readonly column: string;
  readonly holds: "object" | "array";
  /** SQL that names a row for people. */
  readonly row: string;
  /** Whether an unreadable value may be reset: a setting or derived data, never the content of a message. */
  readonly isResettable?: true;
}

const MESSAGE_ROW = "(id >> 24) || ':' || (id & 16777215)";

/** All JSON columns: `doctor` reads them all, and a test breaks each in turn. */
export const JSON_COLUMNS: readonly JsonColumn[] = [
  { table: "sessions", column: "origin", holds: "object", row: "coalesce(handle, n)", isResettable: true },
  { table: "sessions", column: "config", holds: "object", row: "coalesce(handle, n)", isResettable: true },
  { table: "conversations", column: "settings", holds: "object", row: "n", isResettable: true },
  { table: "messages", column: "parts", holds: "array", row: MESSAGE_ROW },
  { table: "messages", column: "meta", holds: "object", row: MESSAGE_ROW },
  { table: "inbox", column: "message", holds: "object", row: "n" },
  { table: "inbox", column: "source", holds: "object", row: "n" },
  { table: "turns", column: "target", holds: "object", row: "n" },
  { table: "turns", column: "said", holds: "object", row: "n", isResettable: true },
  { table: "deliveries", column: "target", holds: "object", row: "n" },
  { table: "deliveries", column: "parts", holds: "array", row: "n" },
  { table: "deliveries", column: "buttons", holds: "array", row: "n", isResettable: true },
  { table: "approvals", column: "target", holds: "object", row: "n" },
  { table: "approvals", column: "request", holds: "object", row: "n" },
  { table: "processes", column: "target", holds: "object", row: "id" },
  { table: "processes", column: "watch", holds: "object", row: "id" },
  { table: "processes", column: "match_lines", holds: "array", row: "id", isResettable: true },
  { table: "memories", column: "entries", holds: "array", row: "owner || ' ' || version" },
  { table: "homes", column: "home", holds: "object", row: "platform" },
  { table: "pairings", column: "asker", holds: "object", row: "n", isResettable: true },
];

/** The condition under which the text of a column does not have its JSON type. */
export function buildUnreadableCondition({ column, holds }: Pick<JsonColumn, "column" | "holds">): string {
  return `${column} is not null and case when json_valid(${column}) then json_type(${column}) <> '${holds}' else 1 end`;
}
