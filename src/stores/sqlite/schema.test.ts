import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { indexed } from "../../../test/support/database.ts";
import type { NewMessage } from "../../core/message.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import type { ErasureProgress } from "../../ports/access-store.ts";
import type { Store } from "../../ports/store.ts";
import { indexMessages } from "../sql/search.ts";
import { migrate, openReader, openWriter, type SqliteDb } from "./connection.ts";
import { APPLICATION_ID, MIGRATIONS } from "./schema.ts";
import { sqliteStore } from "./store.ts";

const T0 = Date.UTC(2026, 2, 15);
const ann = { person: "p_ann" };

let folder: string;
let file: string;
let open: { close(): unknown }[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postrider-schema-"));
  file = join(folder, "postrider.db");
  open = [];
});
afterEach(async () => {
  for (const it of open) await it.close();
  await rm(folder, { recursive: true, force: true });
});

function writer(): SqliteDb {
  const db = openWriter({ file });
  open.push(db);
  return db;
}

async function store(mode: "in-process" | "workers" = "in-process"): Promise<Store> {
  const opened = await sqliteStore({ file, mode });
  open.push(opened);
  return opened;
}

/** Opens the file in a separate connection, and closes it at once. */
function directly<T>(use: (raw: Database.Database) => T, path = file): T {
  const raw = new Database(path);
  try {
    return use(raw);
  } finally {
    raw.close();
  }
}

describe("the connection that writes", () => {
  it("flushes every commit to disk, and overwrites deleted content", () => {
    const db = writer();
    expect(db.pragma("journal_mode")).toBe("wal");
    expect(db.pragma("synchronous")).toBe(2);
    expect(db.pragma("foreign_keys")).toBe(1);
    expect(db.pragma("secure_delete")).toBe(1);
    expect(db.pragma("wal_autocheckpoint")).toBe(4000);
    expect(db.pragma("busy_timeout")).toBe(0);
    expect(db.pragma("application_id")).toBe(APPLICATION_ID);
    expect(db.pragma("user_version")).toBe(MIGRATIONS.length);
  });

  it("uses a version of SQLite in which a checkpoint cannot lose a commit", () => {
    const version = writer().get<{ version: string }>("select sqlite_version() as version")?.version ?? "";
    const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
    expect(major * 1_000_000 + minor * 1000 + patch).toBeGreaterThanOrEqual(3_051_003);
  });

  it("has an index that deletes words at once, with the terms of the core", () => {
    const db = writer();
    const settings = db.all<{ k: string; v: unknown }>("select k, v from words_config");
    expect(Object.fromEntries(settings.map(({ k, v }) => [k, v]))).toMatchObject({
      "secure-delete": 1,
      automerge: 16,
    });
    const made = db.get<{ sql: string }>("select sql from sqlite_schema where name = 'words'")?.sql;
    expect(made).toMatch(/tokenize = "ascii"/);
    expect(made).toMatch(/content = ''/);
  });

  it("cannot be replaced by the reading connection for a write", () => {
    writer();
    const reader = openReader(file);
    open.push(reader);
    expect(reader.pragma("foreign_keys")).toBe(1);
    expect(() => reader.run("delete from sessions")).toThrow(/readonly/);
  });

  it("leaves one complete file, which only its owner may read", async () => {
    for (const mode of ["in-process", "workers"] as const) {
      const opened = await store(mode);
      await opened.sessions.create({
        session: { id: mode, kind: "chat", owner: "p_ann" },
        profile: "main",
        now: T0,
      });
      await opened.sessions.querySessions({ asker: ann });
      for (const name of readdirSync(folder)) {
        expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
      }
      await opened.close();
      expect(readdirSync(folder)).toEqual(["postrider.db"]);
    }
  });
});

describe("migrations", () => {
  const second = "create table extra (a text); insert into extra select id from sessions;";

  function withSession(): SqliteDb {
    const db = writer();
    db.run("insert into profiles (name, created_at) values ('main', 1)");
    db.run(
      "insert into sessions (id, kind, profile, owner, created_at, last_at) values ('s1', 'chat', 'main', 'p_ann', 1, 1)",
    );
    return db;
  }

  it("migrate an older database to the newest schema, after a private backup copy", () => {
    const db = withSession();
    const from = MIGRATIONS.length;
    migrate(db, [...MIGRATIONS, second]);
    expect(db.pragma("user_version")).toBe(from + 1);
    expect(db.all("select a from extra")).toEqual([{ a: "s1" }]);
    const copy = `${file}.schema-${from}.bak`;
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    directly((raw) => {
      expect(raw.pragma("user_version", { simple: true })).toBe(from);
      expect(raw.pragma("application_id", { simple: true })).toBe(APPLICATION_ID);
      expect(raw.prepare("select id from sessions").all()).toEqual([{ id: "s1" }]);
      expect(raw.prepare("select name from sqlite_schema where name = 'extra'").all()).toEqual([]);
    }, copy);
    expect(readdirSync(folder).filter((name) => name.includes(".new-"))).toEqual([]);
  });

  it("keep the data of the first version", async () => {
    directly(firstVersion);
    const opened = await store();
    const [delivery, ...others] = await opened.outbox.listPendingDeliveries({
      dueAt: T0,
      limit: 9,
      platform: "telegram",
    });
    expect(others).toEqual([]);
    expect(delivery).toEqual({
      number: 7,
      session: "s1",
      turn: 3,
      target: { platform: "telegram", chatType: "dm", chatId: "ann" },
      parts: [{ type: "text", text: "hi" }],
      nonce: delivery?.nonce,
      status: { state: "waiting", attempts: 2, nextAt: 5, shown: "nothing", lastError: "429" },
    });
    expect(
      (await opened.outbox.listOrphanedDeliveries({ platform: "signal", now: T0 })).map(
        ({ number }) => number,
      ),
    ).toEqual([8]);
    const { deliveries } = await opened.outbox.enqueue({
      deliveries: [{ target: { platform: "telegram", chatType: "dm", chatId: "ann" }, parts: [] }],
      runner: "r1",
      now: T0,
    });
    expect(deliveries[0]?.number).toBe(9);
    const turn = await opened.turns.claim({ session: "s1", runner: "r1", take: "all", now: T0 });
    expect(turn).toMatchObject({ inputs: [1], settings: {}, target: { chatId: "ann" } });
    expect(existsSync(`${file}.schema-1.bak`)).toBe(true);
  });

  it("count earlier usage of sessions as answers on their last day", async () => {
    const before = MIGRATIONS.findIndex((migration) => migration.includes("create table usage"));
    directly((raw) => {
      raw.pragma(`application_id = ${APPLICATION_ID}`);
      for (const migration of MIGRATIONS.slice(0, before)) raw.exec(migration);
      raw.pragma(`user_version = ${before}`);
      raw.exec(`
        insert into profiles values ('main', 1);
        insert into sessions (id, handle, kind, profile, owner, created_at, last_at, model, provider, input_tokens,
          output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, last_prompt_tokens, cost_usd, cost_status)
        values
          ('used', 'a', 'chat', 'main', 'p_ann', 1, ${T0 + 1000}, 'm', 'p', 1, 20, 300, 4000, 9, 77, 0.5, 'actual'),
          ('unused', 'b', 'chat', 'main', 'p_ann', 1, ${T0}, 'm', null, 0, 0, 0, 0, 0, 0, null, 'unknown')`);
    });
    const opened = await store();
    const [session] = await opened.sessions.find({ asker: ann, text: "used" });
    const { lastPromptTokens, ...counted } = session?.usage ?? {};
    expect(lastPromptTokens).toBe(77);
    expect(await opened.sessions.listUsageEntries({ asker: ann, session: "used" })).toEqual([
      { at: T0, purpose: "answer", usage: { ...counted, lastPromptTokens: 0 } },
    ]);
    expect(await opened.sessions.listUsageEntries({ asker: ann, session: "unused" })).toEqual([]);
    const { usage } = await opened.sessions.getInsights({ asker: ann, since: T0 });
    expect([usage.totalTokens, usage.costUsd, usage.costStatus]).toEqual([4321, 0.5, "actual"]);
  });

  it("keep every denial and the permissions of MCP servers, but no command that was allowed in all folders", async () => {
    directly((raw) => {
      secondVersion(raw);
      raw.exec(MIGRATIONS[2] ?? "");
      raw.pragma("user_version = 3");
      raw.exec("insert into allowed values ('p_ann', 'git push --force', 0, 1, 1)");
    });
    const opened = await store();
    const person = "p_ann";
    expect(await opened.access.listApprovalRules({ person })).toEqual([
      { pattern: "git push --force", kind: "never", at: 1 },
      { pattern: "mcp:files/list", kind: "allowed", at: 1 },
    ]);
    const never = { person, session: "any", pattern: "git push --force" };
    expect(await opened.access.checkApprovalRules({ ...never, folder: "/home/ann/shop" })).toBe("never");
  });

  it("keep a running turn of the second version", async () => {
    directly(secondVersion);
    const opened = await store();
    const turn = await opened.turns.claim({ session: "s1", runner: "r2", take: "one", now: T0 });
    expect(turn).toEqual({
      number: 3,
      session: "s1",
      conversation: 1,
      fence: 5,
      attempt: 2,
      target: { platform: "telegram", chatType: "dm", chatId: "ann" },
      inputs: [1],
      settings: {},
    });
    const said = { text: "It is", thought: "" };
    expect(await opened.turns.saveDraft({ turn: 3, fence: 5, answerDraft: said })).toEqual({ kept: true });
    const again = await opened.turns.claim({ session: "s1", runner: "r3", take: "one", now: T0 });
    expect(again).toMatchObject({ attempt: 3, answerDraft: said });
    expect(existsSync(`${file}.schema-2.bak`)).toBe(true);
  });

  it("run only once", () => {
    const db = withSession();
    const migrations = [...MIGRATIONS, second];
    migrate(db, migrations);
    migrate(db, migrations);
    expect(db.all("select a from extra")).toEqual([{ a: "s1" }]);
  });

  it("change nothing if they fail", () => {
    const db = withSession();
    const from = MIGRATIONS.length;
    const before = db.all("select name, sql from sqlite_schema order by name");
    const broken = [...MIGRATIONS, second, "create table more (a); insert into nowhere values (1);"];
    expect(() => migrate(db, broken)).toThrow(/nowhere/);
    expect(db.inTransaction).toBe(false);
    expect(db.pragma("user_version")).toBe(from);
    expect(db.all("select name, sql from sqlite_schema order by name")).toEqual(before);
    expect(db.all("select id from sessions")).toEqual([{ id: "s1" }]);
    expect(existsSync(`${file}.schema-${from}.bak`)).toBe(true);
  });

  it("are not run again by a second process", () => {
    const db = withSession();
    const other = openWriter({ file });
    open.push(other);
    migrate(other, [...MIGRATIONS, second, "create table third (a);"]);
    // The version that the first process has read is old by now; it must not set the version back.
    const stale: SqliteDb = {
      ...db,
      get inTransaction() {
        return db.inTransaction;
      },
      pragma: staleOnce(db),
    };
    migrate(stale, [...MIGRATIONS, second]);
    expect(db.pragma("user_version")).toBe(MIGRATIONS.length + 2);
    expect(db.all("select a from extra")).toEqual([{ a: "s1" }]);
  });
});

/** A database of the first version, with a pending and a sending delivery and a pending message. */
function firstVersion(raw: Database.Database): void {
  raw.pragma(`application_id = ${APPLICATION_ID}`);
  raw.exec(MIGRATIONS[0] ?? "");
  raw.pragma("user_version = 1");
  raw.exec(`
    insert into profiles values ('main', 1);
    insert into people values ('p_ann', null, 1);
    insert into sessions (n, id, kind, profile, owner, created_at, last_at) values (1, 's1', 'chat', 'main', 'p_ann', 1, 1);
    insert into conversations (n, profile, platform, chat_type, chat_id, person, groups_per_user, threads_per_user, session,
      active_at, created_at) values (1, 'main', 'telegram', 'dm', 'ann', 'p_ann', 1, 1, 1, 1, 1);
    insert into inbox (profile, platform, chat_id, message_id, conversation, at, state, message, source) values
      ('main', 'telegram', 'ann', '1', 1, 1, 0, '{"role":"user","parts":[{"type":"text","text":"hello"}]}',
        '{"platform":"telegram","chatType":"dm","chatId":"ann"}');
    insert into deliveries (n, session, turn, target, parts, state, attempts, next_at, runner, last_error, created_at) values
      (7, 1, 3, '{"platform":"telegram","chatType":"dm","chatId":"ann"}', '[{"type":"text","text":"hi"}]', 'waiting', 2, 5,
        null, '429', 4),
      (8, 1, 3, '{"platform":"signal","chatType":"dm","chatId":"ann"}', '[]', 'sending', 1, 5, 'r0', null, 4);`);
}

/** A database of the second version, with a turn whose runner is gone, and permissions of a person. */
function secondVersion(raw: Database.Database): void {
  raw.pragma(`application_id = ${APPLICATION_ID}`);
  for (const migration of MIGRATIONS.slice(0, 2)) raw.exec(migration);
  raw.pragma("user_version = 2");
  raw.exec(`
    insert into profiles values ('main', 1);
    insert into people (id, created_at) values ('p_ann', 1);
    insert into sessions (n, id, kind, profile, owner, created_at, last_at, next_seq, lease_holder, fence)
      values (1, 's1', 'chat', 'main', 'p_ann', 1, 1, 2, 'r1', 4);
    insert into conversations (n, profile, platform, chat_type, chat_id, person, groups_per_user, threads_per_user, session,
      active_at, created_at) values (1, 'main', 'telegram', 'dm', 'ann', 'p_ann', 1, 1, 1, 1, 1);
    insert into messages (id, at, role, text) values (${2 ** 24 + 1}, 1, 0, 'what time is it?');
    insert into turns (n, session, conversation, runner, fence, attempt, state, target, started_at) values
      (3, 1, 1, 'r1', 4, 1, 'running', '{"platform":"telegram","chatType":"dm","chatId":"ann"}', 1);
    insert into inbox (profile, platform, chat_id, message_id, conversation, at, state, runner, turn, seq) values
      ('main', 'telegram', 'ann', '1', 1, 1, 1, 'r1', 3, 1);
    insert into allowed values ('p_ann', 'ls', 0, 1), ('p_ann', 'rm', 1, 1), ('p_ann', 'mcp:files/list', 0, 1);`);
}

/** Returns once the version from before a change by another process. */
function staleOnce(db: SqliteDb): SqliteDb["pragma"] {
  let isRead = false;
  return (text) => {
    if (text !== "user_version" || isRead) return db.pragma(text);
    isRead = true;
    return MIGRATIONS.length;
  };
}

describe("a file that Postrider must not change", () => {
  it("is refused with a sentence if its schema is newer", async () => {
    const db = writer();
    db.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    db.close();
    open = [];
    for (const mode of ["in-process", "workers"] as const) {
      await expect(sqliteStore({ file, mode })).rejects.toMatchObject({
        code: "newer_schema",
        message: expect.stringMatching(/Update Postrider/),
      });
    }
    expect(directly((raw) => raw.pragma("user_version", { simple: true }))).toBe(MIGRATIONS.length + 1);
    expect(readdirSync(folder)).toEqual(["postrider.db"]);
  });

  it("is refused and not changed if another program created it, whatever its version", async () => {
    for (const version of [0, 1, 99]) {
      directly((raw) => {
        raw.exec("create table if not exists theirs (a)");
        raw.pragma(`user_version = ${version}`);
      });
      const before = readFileSync(file);
      for (const mode of ["in-process", "workers"] as const) {
        await expect(sqliteStore({ file, mode })).rejects.toMatchObject({
          code: "corrupt",
          message: expect.stringMatching(/not one of Postrider/),
        });
      }
      expect(readFileSync(file).equals(before)).toBe(true);
      expect(readdirSync(folder)).toEqual(["postrider.db"]);
    }
  });

  it("is refused and not changed if it is empty, damaged or a folder", async () => {
    for (const contents of ["", "x".repeat(5000)]) {
      writeFileSync(file, contents);
      await expect(sqliteStore({ file, mode: "in-process" })).rejects.toMatchObject({ code: "corrupt" });
      expect(readFileSync(file, "utf8")).toBe(contents);
    }
    const nowhere = join(folder, "none", "postrider.db");
    await expect(sqliteStore({ file: nowhere })).rejects.toMatchObject({ code: "read_only" });
    await expect(sqliteStore({ file: folder, mode: "in-process" })).rejects.toMatchObject({
      code: "read_only",
    });
  });

  it("is refused if only its log is left", async () => {
    writeFileSync(`${file}-wal`, "something");
    await expect(sqliteStore({ file })).rejects.toMatchObject({ code: "corrupt" });
    expect(readdirSync(folder)).toEqual(["postrider.db-wal"]);
  });

  it("is created once by two processes that start at the same time", async () => {
    const both = await Promise.all([store("workers"), store("workers"), store("in-process")]);
    const [one, two] = both;
    await one?.sessions.create({
      session: { id: "s1", kind: "chat", owner: "p_ann" },
      profile: "main",
      now: T0,
    });
    expect(await two?.sessions.find({ asker: ann, text: "s1" })).toHaveLength(1);
    expect(readdirSync(folder).filter((name) => name.includes(".new-"))).toEqual([]);
  });
});

describe("deleted words", () => {
  const secret = "xylographically";
  const said: NewMessage = {
    role: "user",
    parts: [{ type: "text", text: `My secret is ${secret}, and Zwiebelturm too.` }],
  };
  const picture = { hash: "cd".repeat(32), bytes: new TextEncoder().encode("A picture of it.".repeat(999)) };
  const image = {
    type: "image" as const,
    blob: picture.hash,
    mimeType: "image/png",
    size: picture.bytes.length,
  };
  const shown: NewMessage = { role: "user", parts: [image] };
  const traces = (): string[] =>
    readdirSync(folder).flatMap((name) => {
      const bytes = readFileSync(join(folder, name));
      return [secret, "zwiebelturm", "Zwiebelturm", "Hidden title", "picture of it"].flatMap((word) =>
        bytes.includes(word) ? [`${word} in ${name}`] : [],
      );
    });

  for (const mode of ["in-process", "workers"] as const) {
    it(`are in no file right after the removal, nor after closing (${mode})`, async () => {
      const opened = await store(mode);
      for (const id of ["s1", "s2"]) {
        const session = {
          id,
          kind: "chat" as const,
          owner: "p_ann",
          ...(id === "s1" && { title: "Hidden title" }),
        };
        throwIfRefused(await opened.sessions.create({ session, profile: "main", now: T0 }));
        const other: NewMessage = { role: "user", parts: [{ type: "text", text: "other" }] };
        const messages = id === "s1" ? [said, said, shown] : [other];
        throwIfRefused(
          await opened.messages.append({ asker: ann, session: id, messages, blobs: [picture], now: T0 }),
        );
      }
      await indexed(file);
      expect(await opened.messages.searchMessages({ asker: ann, text: secret })).toHaveLength(2);
      expect(traces()).not.toEqual([]);
      expect(await opened.sessions.remove({ asker: ann, session: "s1", now: T0 })).toBe(true);
      expect(traces()).toEqual([]);
      expect(await opened.messages.searchMessages({ asker: ann, text: "other" })).toHaveLength(1);
      await opened.close();
      expect(traces()).toEqual([]);
    });
  }

  it("include a pending message, a delivery and the names of a platform", async () => {
    const opened = await store();
    const source = {
      platform: "telegram",
      chatType: "dm",
      chatId: "7",
      userId: "7",
      userName: "Zwiebelturm",
    };
    const routing = {
      source,
      profile: "main",
      scope: { groupsPerUser: true, threadsPerUser: true },
      reset: {},
      person: "p_ann",
      newSession: { id: "s1", kind: "chat" as const },
      now: T0,
    };
    await opened.runners.recordHeartbeat({
      runner: { id: "r1", host: "elsewhere", boot: "b", pid: 1, started: "1" },
      now: T0,
    });
    const claim = { runner: "r1", take: "one" as const };
    const first = await opened.inbox.accept({ ...routing, messageId: "1", message: said, claim });
    const turn = "turn" in first ? first.turn : undefined;
    await opened.inbox.accept({ ...routing, messageId: "2", message: said });
    const deliveries = [{ target: source, parts: said.parts }];
    const finish = { turn: turn?.number ?? 0, fence: turn?.fence ?? 0, outcome: "done" as const };
    throwIfRefused(await opened.turns.finish({ ...finish, messages: [said], deliveries, now: T0 }));
    expect(await opened.sessions.remove({ asker: ann, session: "s1", now: T0 })).toBe(true);
    // The account keeps its first name: the next message will belong to it.
    expect(traces().filter((trace) => !trace.startsWith("Zwiebelturm"))).toEqual([]);
  });

  const editor = { platform: "acp", chatType: "dm", chatId: "s1" };
  const begun = async (opened: Store, id: string, source: Source, scope = true, messageId = "1") => {
    const accepted = await opened.inbox.accept({
      source,
      profile: "main",
      scope: { groupsPerUser: scope, threadsPerUser: scope },
      reset: {},
      newSession: { id, kind: "editor" },
      messageId,
      message: { role: "user", parts: [{ type: "text", text: "hello" }] },
      claim: { runner: "gone", take: "one" },
      now: T0,
    });
    const { number = 0, fence = 0 } = ("turn" in accepted ? accepted.turn : undefined) ?? {};
    const words = (text: string) =>
      opened.turns.saveDraft({
        turn: number,
        fence,
        answerDraft: { text, thought: "Zwiebelturm ".repeat(2000) },
      });
    throwIfRefused(await words(secret));
    throwIfRefused(await words(`${secret} `.repeat(1000)));
    return { turn: number, fence };
  };
  /** The content of the database itself, without its log. */
  const saidIn = () => directly((raw) => raw.prepare("select said from turns").pluck().all());

  for (const mode of ["in-process", "workers"] as const) {
    it(`include an unfinished answer of the session (${mode})`, async () => {
      const opened = await store(mode);
      await begun(opened, "s1", editor);
      expect(traces()).not.toEqual([]);
      expect(await opened.sessions.remove({ asker: { person: "owner" }, session: "s1", now: T0 })).toBe(true);
      expect(traces()).toEqual([]);
      await opened.close();
      expect(traces()).toEqual([]);
    });
  }

  it("are in no turn after the answer was stored or has ended", async () => {
    const opened = await store();
    const held = await begun(opened, "s1", editor);
    const messages: NewMessage[] = [{ role: "assistant", parts: [{ type: "text", text: "Done." }] }];
    const ask = { asker: { person: "owner" }, session: "s1", messages, now: T0 };
    throwIfRefused(await opened.messages.append({ ...ask, fence: held.fence }));
    expect(saidIn()).toEqual([null]);
    throwIfRefused(await opened.turns.saveDraft({ ...held, answerDraft: { text: secret, thought: "" } }));
    throwIfRefused(await opened.turns.finish({ ...held, outcome: "interrupted", messages, now: T0 }));
    expect(saidIn()).toEqual([null]);
  });

  it("include an unfinished answer to the person, also in chats with others", async () => {
    const opened = await store();
    const inGroup = { platform: "telegram", chatType: "group", chatId: "-100" };
    await begun(opened, "s1", { platform: "telegram", chatType: "dm", chatId: "ann", userId: "ann" });
    await begun(opened, "s2", { ...inGroup, userId: "ann" }, false);
    // The answer to Bob may repeat Ann's earlier message.
    const elsewhere = { ...inGroup, chatId: "-200" };
    const held = await begun(opened, "s3", { ...elsewhere, userId: "ann" }, false);
    throwIfRefused(await opened.turns.finish({ ...held, outcome: "done", messages: [], now: T0 }));
    await begun(opened, "s4", { ...elsewhere, userId: "bob" }, false, "2");
    expect(saidIn().filter((words) => words !== null)).toHaveLength(3);
    const known = await opened.access.getAccount({ platform: "telegram", userId: "ann" });
    const person = known?.person ?? "";
    let step: ErasureProgress = { done: false };
    while (!step.done)
      step = throwIfRefused(await opened.access.erasePerson({ person, limit: 9, now: T0, ...step }));
    expect(saidIn()).toEqual([null, null, null]);
    expect(traces()).toEqual([]);
  });

  it("are indexed once, even if a removed session has gaps", () => {
    const db = writer();
    db.run("insert into profiles (name, created_at) values ('main', 1)");
    // A fork shows only the fifth of ten messages; none was indexed before the others were deleted.
    db.run(
      `insert into sessions (id, kind, profile, owner, created_at, last_at, next_seq, removed_at)
       values ('s1', 'chat', 'main', 'p_ann', 1, 1, 11, 1)`,
    );
    db.run("insert into messages (id, at, role, text) values (?, 1, 0, ?)", 2 ** 24 + 5, secret);
    expect(indexMessages(db, 64)).toBe(1);
    expect(indexMessages(db, 64)).toBe(0);
    expect(db.all("select rowid from words where words match ?", `"${secret}"`)).toEqual([
      { rowid: 2 ** 24 + 5 },
    ]);
    expect(db.get("select n from sessions where indexed_seq < next_seq - 1")).toBeUndefined();
  });
});
