import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { textPart } from "../../core/message.ts";
import { isRefused } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import type { Store } from "../../ports/store.ts";
import { localRunner } from "../../system/local-runner.ts";
import { sqliteStore } from "./store.ts";
import { checkDatabase, fixDatabase } from "./upkeep/check-database.ts";
import { JSON_COLUMNS, type JsonColumn } from "./upkeep/json-columns.ts";

const everyone = { everyone: true } as const;
const NOW = 1_800_000_000_000;
const gone = { ...localRunner(), pid: 4_194_999 };
const own = localRunner();
let file: string;

const routing = (chatId: string) => ({
  source: { platform: "telegram", chatType: "dm", chatId, userId: chatId } satisfies Source,
  scope: { groupsPerUser: true, threadsPerUser: true },
  profile: "main",
  newSession: { id: `session-${chatId}`, kind: "chat" as const },
  reset: {},
});

async function say(store: Store, chat: string, id: string, runner?: string) {
  return store.inbox.accept({
    ...routing(chat),
    messageId: id,
    message: {
      role: "user",
      parts: [textPart(`words ${id}`), textPart("more")],
      origin: { platform: "telegram" },
    },
    ...(runner !== undefined && { claim: { runner, take: "one" as const } }),
    now: NOW,
  });
}

/** Rows with every JSON column: ada's are broken one by one, bob's stay intact. */
async function fill(): Promise<void> {
  const store = await sqliteStore({ file, mode: "in-process" });
  for (const runner of [gone, own]) await store.runners.recordHeartbeat({ runner, now: NOW });
  for (const chat of ["ada", "bob"]) {
    const first = await say(store, chat, "1", gone.id);
    if (first.duplicate || first.tooMany !== undefined || first.turn === undefined)
      throw new Error("no turn");
    await say(store, chat, "2");
    await store.conversations.setHomeChannel({
      home: { platform: chat, chatId: chat, name: chat },
      now: NOW,
    });
    await store.memory.changeMemory({ owner: chat, change: { action: "add", text: "likes tea" }, now: NOW });
  }
  await store.close();
  const db = new Database(file);
  const here = JSON.stringify(routing("ada").source);
  db.exec(`
    update sessions set config = '{"model":"m"}', owner = case n when 1 then 'ada' else 'bob' end;
    update conversations set settings = '{"model":"m"}';
    update turns set said = '{"text":"so far"}';
    insert into people (id, created_at) values ('ada', 0), ('bob', 0);`);
  for (const [n, chat] of [
    [1, "ada"],
    [2, "bob"],
  ] as const) {
    db.prepare(
      `insert into deliveries (platform, session, target, parts, buttons, state, attempts, next_at, created_at)
       values ('telegram', ?, ?, '[{"type":"text","text":"hi"}]', '[]', 'waiting', 0, 0, 0)`,
    ).run(n, here);
    db.prepare(
      `insert into approvals (session, conversation, person, turn, target, request, asked_at, deadline)
       values (?, ?, ?, ?, ?, '{"tool":"t","what":"w"}', 0, ${NOW * 2})`,
    ).run(n, n, chat, n, here);
    db.prepare(
      `insert into processes (id, session, conversation, target, command, cwd, background, pty, watch, state, keeper,
         begun_at, match_lines)
       values (?, ?, ?, ?, 'ls', '/', 1, 0, '{"mode":"result","patterns":[],"wakes":false}', 'running', ?, ${NOW}, '["x"]')`,
    ).run(`proc_${chat}`, n, n, here, gone.id);
    db.prepare(
      `insert into pairings (platform, user_id, asker, salt, hash, asked_at, expires_at)
       values ('telegram', ?, ?, 's', 'h', 0, ${NOW * 2})`,
    ).run(chat, here);
  }
  db.close();
}

function breakFirst({ table, column }: JsonColumn, value: string): unknown {
  const db = new Database(file);
  try {
    const key = table === "memories" ? "owner" : table === "homes" ? "platform" : "rowid";
    const row = db.prepare(
      `select ${key} as k from ${table} where ${column} is not null order by ${key} limit 1`,
    );
    const { k } = row.get() as { k: unknown };
    expect(db.prepare(`update ${table} set ${column} = ? where ${key} = ?`).run(value, k).changes).toBe(1);
    return k;
  } finally {
    db.close();
  }
}

beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), "postrider-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, "postrider.db");
  await fill();
});

const jsonFindings = () =>
  checkDatabase(file, { depth: "usual", now: NOW }).filter(
    ({ check, state }) => check === "json" && state !== "ok",
  );

it("lists every column that contains JSON", () => {
  const db = new Database(file, { readonly: true });
  onTestFinished(() => void db.close());
  const known = new Set(JSON_COLUMNS.map(({ table, column }) => `${table}.${column}`));
  const tables = db.prepare(
    "select name from sqlite_schema where type = 'table' and name not like '%words%'",
  );
  for (const table of tables.pluck().all() as string[])
    for (const row of db.prepare(`select * from ${table}`).all() as Record<string, unknown>[])
      for (const [column, value] of Object.entries(row))
        if (typeof value === "string" && /^[[{]/.test(value)) expect(known).toContain(`${table}.${column}`);
});

describe.each(JSON_COLUMNS.map((column) => [`${column.table}.${column.column}`, column] as const))(
  "one row with an unreadable %s",
  (name, column) => {
    it.each(["{broken", "5"])("affects only that row (%s)", async (value) => {
      breakFirst(column, value);
      const store = await sqliteStore({ file, mode: "in-process" });
      onTestFinished(() => store.close());
      const listed = (await store.sessions.querySessions({ asker: everyone, limit: 10 })).items;
      expect(listed.map(({ id }) => id).sort()).toEqual(["session-ada", "session-bob"]);
      const hasDamage = column.table === "sessions";
      expect(listed.find(({ id }) => id === "session-ada")?.damaged).toEqual(
        hasDamage ? [column.column] : undefined,
      );
      for (const { id, owner } of listed) {
        const ask = { asker: everyone, session: id };
        expect((await store.messages.readHistory(ask))?.map(({ parts: [part] }) => part)).toMatchObject([
          { type: "text", text: expect.stringContaining("words 1") },
        ]);
        await store.sessions.find({ asker: everyone, text: id });
        await store.inbox.listPending(ask);
        await store.sessions.getDiagnostics(ask);
        await store.conversations.findConversations(ask);
        await store.access.listApprovals({ person: owner });
        await store.access.readPersonData({ person: owner });
        expect((await store.memory.getMemory({ owner: id.slice(8) })).version).toBe(1);
      }
      expect(await store.messages.searchMessages({ asker: everyone, text: "words" })).toBeDefined();
      await store.sessions.getInsights({ asker: everyone, since: 0 });
      await store.sessions.getStats({ asker: everyone });
      expect((await store.conversations.listHomeChannels()).map(({ platform }) => platform)).toContain("bob");
      expect((await store.access.listPairings({ now: NOW })).length).toBe(2);
      const due = await store.outbox.listPendingDeliveries({ dueAt: NOW, limit: 10 });
      expect(due.map(({ session }) => session)).toContain("session-bob");
      await store.outbox.listOrphanedDeliveries({ platform: "telegram", now: NOW });
      await store.inbox.listOrphanedCommands({ platform: "telegram", now: NOW });
      const processes = (await store.processes.listProcesses({ asker: everyone })).map(({ id }) => id);
      expect(processes).toContain("proc_bob");
      await store.processes.listWatchedProcesses();
      await store.processes.adoptProcesses({ keeper: own.id, now: NOW });

      // Pending work continues, and new messages are accepted, in both chats.
      const waits = (await store.turns.listClaimable({ now: NOW })).map(({ session }) => session);
      expect(waits).toEqual(expect.arrayContaining(["session-ada", "session-bob"]));
      for (const { id } of listed)
        expect(await store.turns.claim({ session: id, runner: own.id, take: "all", now: NOW })).toMatchObject(
          {
            target: { platform: "telegram" },
          },
        );
      for (const chat of ["ada", "bob"])
        expect(await say(store, chat, "3")).toMatchObject({ duplicate: false });
    });

    it("is reported by doctor, and --fix resets it only if it contains no message", () => {
      breakFirst(column, "{broken");
      const [finding, ...more] = jsonFindings();
      expect(more).toEqual([]);
      expect(finding?.text).toMatch(new RegExp(`^${name.replace(".", "\\.")} is not readable in 1 row: \\S`));
      const fixed: string[] = [];
      fixDatabase(file, finding === undefined ? [] : [finding], {
        now: NOW,
        onDone: (line) => fixed.push(line),
      });
      expect(jsonFindings()).toHaveLength(column.isResettable ? 0 : 1);
    });
  },
);

it("refuses to fork or attach a session with an unreadable config, and names the row", async () => {
  breakFirst({ table: "sessions", column: "config", holds: "object", row: "n" }, "{broken");
  const store = await sqliteStore({ file, mode: "in-process" });
  onTestFinished(() => store.close());
  const named = { code: "corrupt", details: { table: "sessions", column: "config" } };
  const fork = { asker: everyone, session: "session-ada", newSession: { id: "fork" }, now: NOW };
  await expect(store.sessions.fork(fork)).rejects.toMatchObject(named);
  const attach = { ...routing("eve"), asker: everyone, session: "session-ada", now: NOW };
  await expect(store.conversations.attach(attach)).rejects.toMatchObject(named);
  expect(isRefused(await store.sessions.fork({ ...fork, session: "session-bob" }))).toBe(false);
});
