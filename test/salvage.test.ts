import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
import { APPLICATION_ID, MIGRATIONS } from "../src/stores/sqlite/schema.ts";
import { cli, cliOnFullDisk } from "./support/cli.ts";
import { runCommand } from "./support/command.ts";
import { indexed, look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { documentedShapes, problems } from "./support/json-shapes.ts";
import { seeded } from "./support/random.ts";
import { schedule } from "./support/schedule.ts";

const PAGE = 4096;
const CUT = " […the rest could not be recovered]";
const who = { person: OWNER };
const everyone = { everyone: true } as const;

interface Report {
  readonly file: string;
  readonly sessions: number;
  readonly messages: number;
  readonly pages: number;
  readonly unreadable_pages: readonly number[];
  readonly tables: readonly { table: string; saved: number; dropped: number }[];
  readonly losses: readonly { session: string; lost: readonly { from: number; to: number }[] }[];
  readonly cut: readonly { session: string; seq: number }[];
}

let original: Buffer;
/** Every message of the original, by its number in the file. */
const said = new Map<number, string | null>();
let intact: string;
let home: string;
let database: string;

const SESSIONS = schedule(25, 70);

/** A file of some hundred pages, at full length of some thousand: messages in several scripts, forks, undone messages, attachments. */
beforeAll(async () => {
  const folder = temporaryFolder();
  const file = join(folder.path, "postrider.db");
  const store = await sqliteStore({ file });
  const sessions = createSessions({ store });
  const random = seeded(7);
  for (let n = 0; n < SESSIONS; n += 1) {
    const { id } = await sessions.create(who, { id: `s${n}`, title: `title ${n}` });
    await sessions.append(
      who,
      id,
      Array.from({ length: 60 + (n % 50) }, (_, at) => ({
        role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
        text: `${n}/${at} ${"слово 夜景 word ".repeat(random.between(0, 30))}${at % 23 === 0 ? "z".repeat(9000) : ""}`,
      })),
    );
    if (n % 10 === 0) {
      await sessions.append(who, id, {
        role: "user",
        parts: [{ type: "file", mimeType: "text/plain", data: Buffer.alloc(20_000, n) }],
      });
      await sessions.fork(who, id, { id: `fork${n}` });
      await sessions.undo(who, id);
      await sessions.append(who, id, { role: "user", text: "another way" });
    }
  }
  await indexed(file);
  await store.close();
  original = readFileSync(file);
  for (const [id, text] of look(file, (db) => db.prepare("select id, text from messages").raw().all()) as [
    number,
    string | null,
  ][])
    said.set(id, text);
  folder.remove();
}, 60_000);

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  intact = join(temporary.path, "intact.db");
  writeFileSync(intact, original);
  home = join(temporary.path, "home");
  database = join(home, "postrider.db");
  mkdirSync(home, { mode: 0o700 });
});

/** The original with these pages overwritten by random bytes. */
function overwrite(pages: Iterable<number>, seed: number, length = PAGE): void {
  const bytes = Buffer.from(original);
  const random = seeded(seed);
  for (const page of pages) {
    for (let at = 0; at < length; at += 1) bytes[(page - 1) * PAGE + at] = random.between(0, 255);
  }
  writeFileSync(database, bytes, { mode: 0o600 });
}

/** The content of a page in the original, as SQLite reports it. */
function onOriginal<T>(read: (db: Database.Database) => T): T {
  return look(intact, read);
}

async function runSalvage(...args: string[]): Promise<Report> {
  const before = readFileSync(database);
  const { code, out, err } = await runCommand(home, ["doctor", "--salvage", ...args, "--json"]);
  expect([code, err]).toEqual([0, ""]);
  expect(readFileSync(database).equals(before)).toBe(true);
  const shapes = documentedShapes();
  expect(problems(shapes, shapes.get("Salvage report") ?? new Map(), JSON.parse(out))).toEqual([]);
  return JSON.parse(out) as Report;
}

/** Nothing is invented or changed: every message is one of the original's, or marked as cut. */
function checkMessages(report: Report): { whole: number; cut: number } {
  const rows = look(report.file, (db) => db.prepare("select id, text from messages").raw().all()) as [
    number,
    string | null,
  ][];
  const cut = rows.filter(([, text]) => text?.endsWith(CUT));
  for (const [id, text] of rows) {
    if (text?.endsWith(CUT)) expect(said.get(id)?.startsWith(text.slice(0, -CUT.length))).toBe(true);
    else expect(said.get(id)).toBe(text);
  }
  expect(report.messages).toBe(rows.length);
  expect(report.cut.length).toBeGreaterThanOrEqual(cut.length);
  return { whole: rows.length - cut.length, cut: cut.length };
}

function lostIn(report: Report): number {
  return report.losses.reduce(
    (sum, { lost }) => sum + lost.reduce((more, { from, to }) => more + to - from + 1, 0),
    0,
  );
}

/** It is a normal database: intact, searchable and writable. */
async function checkLiveable(report: Report): Promise<void> {
  expect(await runCommand(home, ["restore", report.file, "--replace"])).toMatchObject({ code: 0 });
  const { code, out } = await runCommand(home, ["doctor", "--full", "--json"]);
  const { checks } = JSON.parse(out) as { checks: { check: string; state: string }[] };
  expect(checks.filter(({ state }) => state === "problem")).toEqual([]);
  expect(code).toBe(0);
  const store = await sqliteStore({ file: database, mode: "in-process" });
  onTestFinished(() => store.close());
  const sessions = createSessions({ store });
  const { items } = await sessions.list(everyone, { limit: 1000 });
  for (const { id } of items)
    expect((await sessions.history(everyone, id))?.length).toBeGreaterThanOrEqual(0);
  expect((await sessions.search(everyone, "夜景", { limit: 5 })).length).toBe(5);
  const { id } = await sessions.create(who);
  await sessions.append(who, id, { role: "user", text: "and on" });
}

/** A database of the first version: its tables had fewer columns, and deliveries had others. */
function firstVersion(db: Database.Database): void {
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.exec(MIGRATIONS[0] ?? "");
  db.pragma("user_version = 1");
  const source = JSON.stringify({ platform: "telegram", chatType: "dm", chatId: "ann", userId: "ann" });
  const parts = JSON.stringify([{ type: "text", text: "hi" }]);
  db.exec(`
    insert into profiles values ('main', 1);
    insert into people values ('p_ann', 'Ann', 1);
    insert into accounts values (1, 'telegram', 'ann', null, 'p_ann', 'Ann', 1);
    insert into sessions (n, id, handle, kind, profile, owner, created_at, last_at, next_seq, human_count)
      values (1, 's1', 'k7f', 'chat', 'main', 'p_ann', 1, 1, 2, 1);
    insert into messages values (16777217, 1, 0, 'hello', null, null);
    insert into conversations (n, profile, platform, chat_type, chat_id, person, groups_per_user, threads_per_user, session,
      active_at, created_at) values (1, 'main', 'telegram', 'dm', 'ann', 'p_ann', 1, 1, 1, 1, 1);
    insert into inbox (profile, platform, chat_id, message_id, conversation, at, state, message, source) values
      ('main', 'telegram', 'ann', '1', 1, 1, 0, '{"role":"user","parts":${parts}}', '${source}');
    insert into deliveries (n, session, target, parts, state, attempts, next_at, created_at)
      values (7, 1, '${source}', '${parts}', 'waiting', 2, 5, 4);
    insert into leases values ('expiry', 'r1', 3, 9);`);
}

describe("postrider doctor --salvage", () => {
  it.each(["", ", after its migration"])(
    "recovers everything from a file of an earlier version%s",
    async (late) => {
      const db = new Database(database);
      firstVersion(db);
      db.close();
      if (late !== "") await (await sqliteStore({ file: database, mode: "in-process" })).close();
      const report = await runSalvage();
      expect(report.tables.filter(({ dropped }) => dropped > 0)).toEqual([]);
      const rows = (statement: string) => look(report.file, (it) => it.prepare(statement).raw().all());
      expect(rows("select id, handle, flushed_seq from sessions")).toEqual([["s1", "k7f", 0]]);
      expect(rows("select text from messages")).toEqual([["hello"]]);
      expect(rows("select id, name, role from people")).toEqual([["p_ann", "Ann", null]]);
      expect(rows("select chat_id, session, settings from conversations")).toEqual([["ann", 1, null]]);
      expect(rows("select message_id, state, edited_at from inbox")).toEqual([["1", 0, null]]);
      expect(rows("select n, platform, session, state, attempts from deliveries")).toEqual([
        [7, "telegram", 1, "waiting", 2],
      ]);
      expect(rows("select name, fence, about from leases")).toEqual([["expiry", 3, null]]);
      const store = await sqliteStore({ file: report.file, mode: "in-process" });
      onTestFinished(() => store.close());
      expect(
        await store.outbox.listPendingDeliveries({ dueAt: 9, limit: 9, platform: "telegram" }),
      ).toHaveLength(1);
      expect(await store.turns.listClaimable({ now: 9 })).toEqual([{ session: "s1", platform: "telegram" }]);
    },
  );

  it("recovers rows of the second version and later ones, without broken draft texts", async () => {
    const db = new Database(database);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    for (const migration of MIGRATIONS.slice(0, 2)) db.exec(migration);
    db.exec(`
      insert into profiles values ('main', 1);
      insert into people (id, created_at) values ('owner', 1);
      insert into sessions (n, id, kind, profile, owner, created_at, last_at) values (1, 's1', 'editor', 'main', 'owner', 1, 1);
      insert into allowed values ('owner', 'mcp:files/list', 0, 1);
      insert into turns values (1, 1, 1, 'r1', 1, 1, 'running', '{}', null, 1, null);`);
    for (const migration of MIGRATIONS.slice(2)) db.exec(migration);
    db.pragma(`user_version = ${MIGRATIONS.length}`);
    db.exec(`
      insert into allowed (person, pattern, session, at, never) values ('owner', 'rm', 0, 2, 1);
      insert into turns (n, session, conversation, runner, fence, attempt, state, target, started_at, said) values
        (2, 1, 1, 'r1', 2, 1, 'running', '{}', 2, '{"text":"Go nor","thought":""}'),
        (3, 1, 1, 'r1', 3, 1, 'running', '{}', 3, '{"text":');`);
    db.close();
    const report = await runSalvage();
    expect(report.tables.filter(({ dropped }) => dropped > 0)).toEqual([]);
    const rows = (statement: string) => look(report.file, (it) => it.prepare(statement).raw().all());
    expect(rows("select pattern, at, never from allowed order by pattern")).toEqual([
      ["mcp:files/list", 1, 0],
      ["rm", 2, 1],
    ]);
    expect(rows("select n, said from turns order by n")).toEqual([
      [1, null],
      [2, '{"text":"Go nor","thought":""}'],
      [3, null],
    ]);
  });

  it("recovers processes with their output, except those without a session", async () => {
    const db = new Database(database);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    for (const migration of MIGRATIONS) db.exec(migration);
    db.pragma(`user_version = ${MIGRATIONS.length}`);
    db.pragma("foreign_keys = OFF");
    db.exec(`
      insert into profiles values ('main', 1);
      insert into people (id, created_at) values ('owner', 1);
      insert into sessions (n, id, kind, profile, owner, created_at, last_at) values (1, 's1', 'chat', 'main', 'owner', 1, 1);`);
    const insert = db.prepare(`
      insert into processes (n, id, session, conversation, target, command, cwd, background, pty, watch, state, keeper, pid,
        born, begun_at, total, match_lines) values (?, ?, ?, 1, '{}', 'make', '/', 1, 0, ?, 'running', 'k1', 7, '77', 1, 5, ?)`);
    const watch = '{"mode":"all","patterns":[],"wakes":false}';
    insert.run(1, "proc_000000000001", 1, watch, '["hello"]');
    insert.run(2, "proc_000000000002", 1, watch, '["hel');
    insert.run(3, "proc_000000000003", 9, watch, null);
    insert.run(4, "proc_000000000004", 1, '{"mode"', null);
    db.exec(
      "insert into process_output (n, process, from_char, text) values (1, 1, 0, 'hello'), (2, 3, 0, 'gone'), (3, 4, 0, 'gone')",
    );
    db.close();
    const report = await runSalvage();
    const dropped = report.tables.filter((one) => one.dropped > 0);
    expect(dropped).toEqual([{ table: "processes", saved: 3, dropped: 1 }]);
    const store = await sqliteStore({ file: report.file, mode: "in-process" });
    onTestFinished(() => store.close());
    const found = await store.processes.listProcesses({ asker: everyone });
    expect(found.map(({ id, matches }) => [id, matches.lines])).toEqual([
      ["proc_000000000002", []],
      ["proc_000000000001", ["hello"]],
    ]);
    const output = await store.processes.readProcessOutput({ asker: everyone, id: "proc_000000000001" });
    expect(output).toEqual({ text: "hello", from: 0, total: 5 });
    expect(look(report.file, (it) => it.prepare("select text from process_output").raw().all())).toEqual([
      ["hello"],
    ]);
    // The next keeper checks whether they still run.
    expect(await store.processes.adoptProcesses({ keeper: "k2", now: 1 })).toHaveLength(2);
  });

  it("recovers memories with their owners, except unreadable versions", async () => {
    const db = new Database(database);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    for (const migration of MIGRATIONS) db.exec(migration);
    db.pragma(`user_version = ${MIGRATIONS.length}`);
    db.pragma("foreign_keys = OFF");
    db.exec(`
      insert into memories values ('p_ann', 1, 1, '["likes tea"]'), ('p_ann', 2, 2, '["likes'),
        ('p_bob in chat:telegram:-100', 1, 1, '["rides"]'), ('chat:telegram:-100', 1, 1, '["Mondays"]'),
        ('profile:main', 1, 1, '["closed"]');
      insert into flushes (session, up_to, asked_at) values (9, 4, 1);`);
    db.close();
    const report = await runSalvage();
    const store = await sqliteStore({ file: report.file, mode: "in-process" });
    onTestFinished(() => store.close());
    expect((await store.memory.getMemory({ owner: "p_ann" })).entries).toEqual(["likes tea"]);
    expect((await store.memory.getMemory({ owner: "profile:main" })).entries).toEqual(["closed"]);
    expect((await store.access.readPersonData({ person: "p_bob" }))?.memories).toEqual([
      { text: "rides", chat: "chat:telegram:-100" },
    ]);
    expect(await store.access.readPersonData({ person: "chat:telegram:-100" })).toBeUndefined();
    expect(await store.memory.claimFlush({ runner: "r1", now: 1 })).toBeUndefined();
    expect(look(report.file, (it) => it.pragma("foreign_key_check"))).toEqual([]);
  });

  it("recovers everything from an intact file", async () => {
    overwrite([], 1);
    const report = await runSalvage();
    expect(checkMessages(report)).toEqual({ whole: said.size, cut: 0 });
    expect([report.losses, report.cut, report.unreadable_pages]).toEqual([[], [], []]);
    expect(statSync(report.file).mode & 0o777).toBe(0o600);
    for (const table of [
      "sessions",
      "views",
      "pieces",
      "hidden",
      "blobs",
      "blob_uses",
      "people",
      "words_docsize",
    ]) {
      const all = (where: string) =>
        look(where, (db) => db.prepare(`select * from ${table} order by 1, 2`).raw().all());
      expect(all(report.file), table).toEqual(all(intact));
    }
    await checkLiveable(report);
  });

  it.each([
    ["", 1],
    ["", 2],
    ["", 3],
    [", including the first page", 4],
  ])(
    "recovers all intact pages when one page of a hundred is overwritten%s, and reports the losses (%i)",
    async (first, seed) => {
      const count = original.length / PAGE;
      const random = seeded(seed);
      const pages = new Set<number>(first === "" ? [] : [1]);
      while (pages.size < count / 100) pages.add(random.between(2, count));
      overwrite(pages, seed);
      const [gone, long] = onOriginal((db) => {
        const placed = db
          .prepare("select pageno, pagetype, ncell from dbstat where name = 'messages'")
          .raw()
          .all() as [number, string, number][];
        const hit = placed.filter(([page]) => pages.has(page));
        return [
          hit.filter(([, type]) => type === "leaf").reduce((sum, [, , cells]) => sum + cells, 0),
          hit.filter(([, type]) => type === "overflow").length,
        ];
      }) as [number, number];
      const report = await runSalvage();
      const { whole, cut } = checkMessages(report);
      // Only messages on the overwritten pages are lost.
      expect(whole + cut).toBe(said.size - gone);
      expect(cut).toBeLessThanOrEqual(long);
      expect(lostIn(report)).toBe(gone);
      // The report contains every overwritten page.
      for (const page of pages) expect(report.unreadable_pages).toContain(page);
      expect(report.tables.find(({ table }) => table === "messages")?.saved).toBe(said.size - gone);
      await checkLiveable(report);
    },
  );

  it("finds messages without any pages of the tree above them", async () => {
    const pages = onOriginal((db) =>
      db.prepare("select pageno from dbstat where name = 'messages' and pagetype = 'internal'").pluck().all(),
    ) as number[];
    expect(pages.length).toBeGreaterThan(0);
    overwrite(pages, 5);
    const report = await runSalvage();
    expect(checkMessages(report)).toEqual({ whole: said.size, cut: 0 });
    expect(report.losses).toEqual([]);
  });

  it("keeps the messages of lost sessions in recovered sessions", async () => {
    const pages = onOriginal((db) =>
      db
        .prepare("select pageno from dbstat where name = 'sessions' and pagetype = 'leaf' order by 1")
        .pluck()
        .all(),
    ) as number[];
    overwrite(pages.slice(0, 2), 6);
    const report = await runSalvage();
    expect(checkMessages(report)).toEqual({ whole: said.size, cut: 0 });
    const made = look(report.file, (db) =>
      db.prepare("select owner, title from sessions where id like 'recovered%'").raw().all(),
    ) as [string, string][];
    expect(made.length).toBeGreaterThan(5);
    for (const [owner, title] of made) {
      expect(owner).toBe(OWNER);
      expect(title).toMatch(/^recovered \w+$/);
    }
    await checkLiveable(report);
  });

  it("recognises the tables of a vacuumed file without its first page", async () => {
    const raw = new Database(intact);
    raw.exec("vacuum");
    raw.close();
    const bytes = readFileSync(intact);
    bytes.fill(0xa5, 0, PAGE);
    writeFileSync(database, bytes, { mode: 0o600 });
    const report = await runSalvage();
    expect(checkMessages(report)).toEqual({ whole: said.size, cut: 0 });
    for (const table of ["sessions", "views", "pieces", "hidden", "blobs", "people", "profiles"]) {
      const all = (where: string) =>
        look(where, (db) => db.prepare(`select * from ${table} order by 1, 2`).raw().all());
      expect(all(report.file), table).toEqual(all(intact));
    }
  });

  it("reads the intact part of a torn page", async () => {
    const page = onOriginal((db) =>
      db
        .prepare("select pageno from dbstat where name = 'messages' and pagetype = 'leaf' and ncell > 8")
        .pluck()
        .get(),
    ) as number;
    const cells = onOriginal((db) =>
      db.prepare("select ncell from dbstat where pageno = ?").pluck().get(page),
    ) as number;
    const bytes = Buffer.from(original);
    bytes.fill(0xa5, page * PAGE - 512, page * PAGE);
    writeFileSync(database, bytes, { mode: 0o600 });
    const report = await runSalvage();
    expect(report.messages).toBeGreaterThan(said.size - cells);
    expect(report.messages + lostIn(report)).toBe(said.size);
  });

  it("includes the newest messages from the write-ahead log", async () => {
    writeFileSync(join(home, "live.db"), original);
    const raw = new Database(join(home, "live.db"));
    raw.pragma("journal_mode = WAL");
    raw.pragma("wal_autocheckpoint = 0");
    raw.exec("update messages set text = 'said last' where id = 16777217");
    copyFileSync(join(home, "live.db"), database);
    copyFileSync(join(home, "live.db-wal"), `${database}-wal`);
    raw.close();
    const bytes = readFileSync(database);
    const last = bytes.length / PAGE;
    bytes.fill(0x5a, (last - 4) * PAGE, (last - 2) * PAGE);
    writeFileSync(database, bytes);
    const report = await runSalvage();
    expect(
      look(report.file, (db) => db.prepare("select text from messages where id = 16777217").pluck().get()),
    ).toBe("said last");
    expect(readdirSync(home).filter((name) => /new-|work/.test(name))).toEqual([]);
  });

  it("reports saved and lost messages, and the next steps", async () => {
    const page = onOriginal((db) =>
      db
        .prepare("select pageno from dbstat where name = 'messages' and pagetype = 'leaf' and ncell > 1")
        .pluck()
        .get(),
    ) as number;
    overwrite([page], 8);
    const file = join(home, "elsewhere.db");
    cpSync(database, file);
    const { code, out, err } = await cli(home, "doctor", "--salvage", file);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^Saved \d+ sessions with [\d,]+ messages in .*elsewhere\.db\.salvaged-\d{8}T\d{6}Z\./,
    );
    expect(out).toMatch(new RegExp(`were unreadable, .*: .*\\b${page}\\b`));
    expect(out).toMatch(/Lost in s\d+ \(\w+, title \d+\): message \d+–\d+/);
    expect(err).toMatch(/unchanged.*postrider restore .* --replace/);
  });

  it("reports an unreadable file, and creates no file", async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from("hello ".repeat(5000)), Buffer.alloc(40_960, 0xa5)]) {
      writeFileSync(database, bytes, { mode: 0o600 });
      const { code, err } = await runCommand(home, ["doctor", "--salvage", "--json"]);
      expect(code).toBe(1);
      expect(JSON.parse(err).error.code).toBe("corrupt");
    }
    expect(await runCommand(home, ["doctor", "--salvage", join(home, "nowhere")])).toMatchObject({ code: 3 });
    expect(readdirSync(home)).toEqual(["postrider.db"]);
  });

  it("keeps the original on a full disk, and reports it", async () => {
    overwrite([20, 21], 9);
    const before = readFileSync(database);
    for (const kilobytes of [2000, Math.ceil(original.length / 1024) + 8]) {
      const { code, err } = await cliOnFullDisk(home, kilobytes, "doctor", "--salvage");
      // With space for the working copy, the result may just fit.
      if (code === 0) continue;
      expect(code).toBe(1);
      expect(err).toMatch(/no space/);
      expect(readdirSync(home)).toEqual(["postrider.db"]);
    }
    expect(readFileSync(database).equals(before)).toBe(true);
    expect(await cliOnFullDisk(home, 2000, "doctor", "--salvage")).toMatchObject({ code: 1 });
  });
});
