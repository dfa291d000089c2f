import Database from "better-sqlite3";
import fc from "fast-check";
import { sqliteStore } from "../../src/stores/sqlite/store.ts";
import { indexPending } from "../../src/stores/sqlite/upkeep/index-pending.ts";
import { ACTION_KINDS, type Action, act, createWorld, type World } from "../two-engines/world.ts";

const words = fc.constantFrom(
  "hello world",
  "world, hello",
  "你好世界",
  "nul \0 and \ufdd0",
  "half \ud83d pair",
  "",
);
const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom(...ACTION_KINDS, "accept", "claim", "finish", "append"),
  a: fc.nat(200),
  b: fc.nat(200),
  text: words,
});

/** Fills a new database by random operations, and with rows for every table. The world knows what to look at. */
export async function fillStore(file: string, seed: number): Promise<World> {
  const store = await sqliteStore({ file, mode: "in-process" });
  const world = createWorld(store);
  for (const it of fc.sample(action, { numRuns: 150, seed })) await act(world, it);
  await store.close();
  indexPending(file);
  changeFile(file, addUnusualRows);
  return world;
}

export function changeFile(file: string, change: (db: Database.Database) => void): void {
  const db = new Database(file, { fileMustExist: true, timeout: 5000 });
  try {
    change(db);
  } finally {
    db.close();
  }
}

const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

/** Values at the limits of a column, and texts that PostgreSQL stores in another form. */
function addUnusualRows(db: Database.Database): void {
  const session = db.prepare("select min(n) from sessions where removed_at is null").pluck().get();
  const insert = (sql: string, ...values: unknown[]) => db.prepare(sql).run(...values);
  insert("insert into guesses values (?, ?, ?, ?)", "big", 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n);
  // Sorted differently by the two engines.
  for (const name of ["a\0", "a\u0001", "a\ufdd0", "a\ufdd00", "a\uffff", "a😀", ""])
    insert("insert into cursors values (?, ?, 0)", name, "");
  insert("insert into people values ('p_unusual', '', 0, null, null)");
  insert("insert into people values ('p_nameless', null, 0, null, null)");
  insert("insert into blobs values ('all', 256, ?), ('none', 0, ?)", allBytes, Buffer.alloc(0));
  insert("insert into blob_uses values ('all', ?), ('none', 0)", session);
  insert(
    "insert into usage (session, at, purpose, cost_usd) values (?, 1, 'a', ?), (?, 1, 'b', 1), (?, 1, 'c', 1e300)",
    session,
    0.1 + 0.2,
    session,
    session,
  );
  insert("insert into holds values (?, 'copied', 1)", session);
  insert("insert or ignore into hidden values (?, 16777215, 16777215)", session);
  insert("insert or ignore into homes values ('telegram', '{\"chatId\":\"\\ud83d\"}', 1)");
  insert("insert or ignore into allowed (person, pattern, at) values ('p_ann', 'ls \"{},\\', 1)");
  insert(
    "insert into pairings (platform, user_id, salt, hash, asked_at, expires_at) values ('telegram', '', 's', 'h', 1, 2)",
  );
  insert(
    "insert into approvals (session, conversation, person, turn, target, request, asked_at, deadline) values (?, 1, 'p_ann', 1, '{}', '{}', 1, 2)",
    session,
  );
  insert("insert into flushes (session, up_to, asked_at, done_at) values (?, 1, 1, 2)", session);
  insert(
    "insert into processes (id, session, conversation, target, command, cwd, background, pty, watch, state, begun_at) values ('proc_x', ?, 1, '{}', 'make', '/', 1, 0, '{}', 'ended', 1)",
    session,
  );
  const process = db.prepare("select n from processes where id = 'proc_x'").pluck().get();
  insert(
    "insert into process_output (process, from_char, text, utf16) values (?, 0, '', ?)",
    process,
    Buffer.from("\ud83d", "utf16le"),
  );
  insert(
    "insert or ignore into runners (id, host, boot, pid, started, heartbeat) values ('gone', 'elsewhere', 'b', 1, '1', 1)",
  );
  insert("insert or ignore into leases values ('expiry', 'gone', 7, 1, null)");
  // A deleted row: its number must not be used again.
  insert("insert into decisions (n, conversation, at, decision) values (5000, 1, 1, 'created')");
  insert("delete from decisions where n = 5000");
}

/** All rows of a file, by table, with exact numbers. */
export function dumpFile(file: string): Record<string, unknown[]> {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 });
  try {
    const tables = db
      .prepare(
        "select name from sqlite_schema where type = 'table' and name not like 'words%' and name <> 'store_copy' order by name",
      )
      .pluck()
      .all() as string[];
    return Object.fromEntries(
      tables.map((table) => {
        const rows = db.prepare(`select * from "${table}" order by 1, 2`).safeIntegers().raw().all();
        return [table, rows];
      }),
    );
  } finally {
    db.close();
  }
}
