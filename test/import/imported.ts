import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { look } from "../support/database.ts";

type Row = Readonly<Record<string, unknown>>;

/** Every file below a folder with the hash of its content. */
export function bytesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true }) as string[];
  const files = names.filter((name) => statSync(join(folder, name)).isFile()).sort();
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ]),
  );
}

/** The hash of a JSON value, independent of the order of its keys. */
export function hashOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, sorted(inner)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The whole content of an imported database, except for random ids and times: people are named by one of their
 * accounts.
 */
export function stateOf(database: string): Readonly<Record<string, readonly Row[]>> {
  return look(database, (db) => {
    const all = (sql: string): Row[] => db.prepare(sql).all() as Row[];
    const people = new Map(
      all(
        "select person, min(platform || ' ' || coalesce(alt_id, user_id)) as name from accounts group by person",
      ).map(({ person, name }) => [person, name]),
    );
    const named = (rows: readonly Row[], column: string): Row[] =>
      rows.map((row) => ({ ...row, [column]: people.get(row[column]) ?? row[column] }));
    return {
      sessions: named(all("select * from sessions order by n"), "owner").map(
        ({ indexed_seq: _, ...row }) => row,
      ),
      messages: all("select * from messages order by id"),
      conversations: named(
        all(
          `select c.platform, c.chat_type, c.chat_id, c.thread_id, c.person, s.id, c.active_at, a.user_id, a.alt_id,
             c.groups_per_user, c.threads_per_user
           from conversations c join sessions s on s.n = c.session left join accounts a on a.n = c.account
           order by 1, 2, 3, 4, a.user_id`,
        ),
        "person",
      ),
      accounts: named(
        all("select platform, user_id, alt_id, name, person from accounts order by 1, 2, 3"),
        "person",
      ),
      blobs: all("select hash, size from blobs order by 1"),
      uses: all("select * from blob_uses order by 1, 2"),
      views: all("select session, version, kind from views order by 1, 2"),
    };
  });
}
