/** The fragments of SQL that differ between engines. Arguments and results are SQL. */
export interface Dialect {
  /** The larger of two values that are not null. */
  greatest(a: string, b: string): string;
  /** Whether a text contains another. */
  contains(text: string, part: string): string;
  /** At least the first characters of a text, also after a NUL. */
  startOf(text: string, characters: number): string;
  /** Whether a column contains valid JSON. */
  isJson(column: string): string;
  /** The text at a path such as `origin.userId`; null if the column is null or has no such value. Needs valid JSON. */
  jsonText(column: string, path: string): string;
  /** Whether the value at a path is `true`. Needs valid JSON. */
  isJsonTrue(column: string, path: string): string;
  /** The length of the array at a path; null if there is none. Needs valid JSON. */
  jsonLength(column: string, path: string): string;
  /** A query for the size of the database in bytes, as `bytes`. */
  readonly databaseSize: string;
  /** A column in a condition for which the planner would choose an index wrongly. */
  withoutIndex(column: string): string;
  /** A join that reads the left table first, where the planner would choose wrongly. */
  readonly joinInOrder: string;
}
