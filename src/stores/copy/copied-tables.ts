/** A table of the store, as a copy reads and writes it. */
export interface CopiedTable {
  readonly name: string;
  /** The columns of the primary key, in the order of its index. */
  readonly key: readonly string[];
  /** Whether the database numbers new rows. The copy continues with the same number. */
  readonly isNumbered?: true;
  /** The session of a row, from the first column of its key. The rows of a session are verified together. */
  session?(first: bigint): bigint;
  /** Columns that the target computes itself. A copy starts them with 0, and the verification skips them. */
  readonly derived?: readonly string[];
}

const isSession = (first: bigint): bigint => first;
/** An id of a message is the number of its session and a position. */
const isMessage = (first: bigint): bigint => first >> 24n;

/**
 * Every table except the search index, which the target builds itself. A table comes after those that it refers to.
 * A test compares this list with the schemas.
 */
export const COPIED_TABLES: readonly CopiedTable[] = [
  { name: "profiles", key: ["name"] },
  { name: "people", key: ["id"] },
  { name: "accounts", key: ["n"], isNumbered: true },
  { name: "sessions", key: ["n"], isNumbered: true, session: isSession, derived: ["indexed_seq"] },
  { name: "conversations", key: ["n"], isNumbered: true },
  { name: "messages", key: ["id"], session: isMessage },
  { name: "views", key: ["session", "version"], session: isSession },
  { name: "pieces", key: ["session", "version", "position"], session: isSession },
  { name: "hidden", key: ["session", "from_seq"], session: isSession },
  { name: "usage", key: ["session", "at", "purpose", "provider", "model"], session: isSession },
  { name: "inbox", key: ["n"], isNumbered: true },
  { name: "cursors", key: ["name"] },
  { name: "turns", key: ["n"], isNumbered: true },
  { name: "holds", key: ["session", "name"], session: isSession },
  { name: "leases", key: ["name"] },
  { name: "runners", key: ["id"] },
  { name: "decisions", key: ["n"], isNumbered: true },
  { name: "blobs", key: ["hash"] },
  { name: "blob_uses", key: ["hash", "session"] },
  { name: "deliveries", key: ["n"], isNumbered: true },
  { name: "pairings", key: ["n"], isNumbered: true },
  { name: "guesses", key: ["name"] },
  { name: "approvals", key: ["n"], isNumbered: true },
  { name: "homes", key: ["platform"] },
  { name: "processes", key: ["n"], isNumbered: true },
  { name: "process_output", key: ["n"], isNumbered: true },
  { name: "memories", key: ["owner", "version"] },
  { name: "flushes", key: ["n"], isNumbered: true },
  { name: "allowed", key: ["person", "pattern", "folder", "session"] },
];

/** Tables that a process fills by opening a store. A database with nothing else counts as empty. */
export const TABLES_OF_PROCESSES: readonly string[] = ["leases", "runners"];
