import { PostriderError } from "../../core/errors.ts";
import type { StoreUser } from "./copy-end.ts";

/** For a store that is opened on an unfinished copy. */
export function createIncompleteCopyError(database: string): PostriderError {
  return new PostriderError(
    "incomplete_copy",
    `${database} is an unfinished copy of another store. Run the same postrider store copy again to finish it.`,
    { details: { database } },
  );
}

/** The tables of an unfinished copy are never migrated. */
export function createOtherVersionError(database: string): PostriderError {
  return new PostriderError(
    "incomplete_copy",
    `${database} is an unfinished copy that another version of Postrider started. Finish it with that version, or copy to an empty database.`,
    { details: { database } },
  );
}

export function createTakenOverCopyError(database: string): PostriderError {
  return new PostriderError(
    "in_use",
    `Another postrider store copy now writes to ${database}, so this one stops.`,
    { details: { database } },
  );
}

export function createStoreInUseError(database: string, users: readonly StoreUser[]): PostriderError {
  const names = users.map(({ pid, host, lease }) =>
    lease === null ? `process ${pid} on ${host}` : `${lease.replace(":", " ")} (process ${pid} on ${host})`,
  );
  return new PostriderError(
    "in_use",
    `${database} is in use: ${names.join(", ")}. End ${users.length === 1 ? "it" : "them"} and try again; nothing was changed.`,
    { details: { database, pids: users.map(({ pid }) => pid), users: [...users] } },
  );
}

/** The target refused a row: usually a row that refers to a missing one. */
export function createRefusedRowError(table: string, cause: unknown): PostriderError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new PostriderError(
    "corrupt",
    `The target refused a row of the table ${table}: ${text}. Check the source with postrider doctor --fix, then copy again.`,
    { cause, details: { table } },
  );
}
