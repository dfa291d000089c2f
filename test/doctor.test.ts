import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  buildRouting,
  createSessions,
  localRunner,
  OWNER,
  sqliteStore,
  throwIfRefused,
} from "../src/index.ts";
import { checkDatabase } from "../src/stores/sqlite/upkeep/check-database.ts";
import type { SaidByTalker } from "./backup/writer.ts";
import { startChild } from "./support/child.ts";
import { cli } from "./support/cli.ts";
import { runCommand } from "./support/command.ts";
import { indexed, look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { settings } from "./support/routing.ts";

const who = { person: OWNER };
let home: string;
let database: string;

interface Report {
  readonly ok: boolean;
  readonly checks: readonly { check: string; state: string; text: string; todo: string | null }[];
  readonly fixed: readonly string[];
}

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  home = join(temporary.path, "home");
  database = join(home, "postrider.db");
});

/** A home with all kinds of data: turns, forks, undone messages, attachments, several languages. */
async function furnish(): Promise<void> {
  mkdirSync(home, { mode: 0o700 });
  const store = await sqliteStore({ file: database, mode: "in-process" });
  const sessions = createSessions({ store });
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  for (let n = 1; n <= 5; n += 1) {
    const { turn } = (await store.inbox.accept({
      ...buildRouting({ platform: "telegram", chatId: n, userId: n }, settings),
      messageId: `m${n}`,
      message: { role: "user", parts: [{ type: "text", text: `question number ${n} 夜景` }] },
      claim: { runner: runner.id, take: "one" },
    })) as { turn?: { number: number; fence: number } };
    if (turn === undefined) throw new Error("no turn");
    throwIfRefused(
      await store.turns.finish({
        turn: turn.number,
        fence: turn.fence,
        outcome: "done",
        messages: [
          { role: "assistant", parts: [], toolCalls: [{ id: "1", name: "look", arguments: {} }] },
          { role: "tool", parts: [{ type: "text", text: "seen" }], toolCallId: "1" },
          { role: "assistant", parts: [{ type: "text", text: `answer ${n}` }] },
        ],
        now: Date.now(),
      }),
    );
  }
  const { id } = await sessions.create(who, { id: "origin", title: "plans" });
  await sessions.append(who, id, [
    { role: "user", text: "one" },
    { role: "assistant", text: "two" },
    {
      role: "user",
      parts: [
        { type: "text", text: "see" },
        { type: "image", mimeType: "image/png", data: Buffer.from("an image") },
      ],
    },
    { role: "assistant", text: "…" },
  ]);
  await sessions.fork(who, id, { id: "fork" });
  await sessions.undo(who, id);
  await sessions.append(who, id, { role: "user", text: "another way" });
  await sessions.create(who, { id: "gone" });
  await sessions.append(who, "gone", { role: "user", text: "soon removed" });
  await sessions.fork(who, "gone", { id: "heir" });
  await sessions.remove(who, "gone");
  await store.runners.retire({ runner: runner.id });
  await indexed(database);
  await store.close();
}

async function runDoctor(...args: string[]): Promise<Report & { code: number }> {
  const { code, out, err } = await runCommand(home, ["doctor", "--json", ...args]);
  expect(err).toBe("");
  return { ...(JSON.parse(out) as Report), code };
}

function listProblems(report: Report): string[] {
  return report.checks.filter(({ state }) => state !== "ok").map(({ check, state }) => `${state} ${check}`);
}

function damage(change: (db: Database.Database) => void): void {
  const db = new Database(database);
  db.pragma("foreign_keys = OFF");
  change(db);
  db.close();
}

describe("postrider doctor", () => {
  it("finds no problem in a healthy home, and changes nothing", async () => {
    await furnish();
    const before = createHash("sha256").update(readFileSync(database)).digest("hex");
    for (const args of [[], ["--full"]]) {
      const report = await runDoctor(...args);
      expect(listProblems(report)).toEqual([]);
      expect([report.code, report.ok, report.fixed]).toEqual([0, true, []]);
    }
    expect(createHash("sha256").update(readFileSync(database)).digest("hex")).toBe(before);
    const { out } = await cli(home, "doctor");
    expect(
      out
        .trim()
        .split("\n")
        .every((line) => line.startsWith("ok       ")),
    ).toBe(true);
    // A repair of an intact home changes nothing either.
    expect(await runDoctor("--fix")).toMatchObject({ code: 0, fixed: [] });
  });

  it("finds no problem while 64 sessions of another process write", async () => {
    await furnish();
    const talker = startChild(new URL("./backup/writer.ts", import.meta.url), [database]);
    onTestFinished(() => void talker.process.kill("SIGKILL"));
    await talker.heard<SaidByTalker>(({ step }) => step === "running");
    for (const args of [["--full"], ["--fix"], []]) {
      const report = await runDoctor(...args);
      expect([report.code, listProblems(report), report.fixed]).toEqual([0, [], []]);
    }
    talker.tell("stop");
    expect((await talker.ended).code).toBe(0);
  });

  it("creates neither a home nor a database", async () => {
    expect(await runDoctor("--fix")).toMatchObject({ code: 0, ok: true });
    expect(existsSync(home)).toBe(false);
    mkdirSync(home, { mode: 0o700 });
    expect(await runDoctor("--fix")).toMatchObject({ code: 0, ok: true });
    expect(existsSync(database)).toBe(false);
  });

  it("reports agents' files that earlier versions left in the home, and none in the workspace", async () => {
    await furnish();
    mkdirSync(join(`${home}.workspace`, "owner"), { recursive: true, mode: 0o755 });
    writeFileSync(join(`${home}.workspace`, "owner", "run.sh"), "", { mode: 0o755 });
    expect(listProblems(await runDoctor())).toEqual([]);
    mkdirSync(join(home, "workspace"), { mode: 0o700 });
    expect(listProblems(await runDoctor())).toEqual([]);
    mkdirSync(join(home, "workspace", "owner"), { mode: 0o700 });
    const report = await runDoctor();
    expect([report.code, listProblems(report)]).toEqual([0, ["warning workspaces"]]);
    const { text, todo } = report.checks.find(({ check }) => check === "workspaces") ?? {};
    expect(text).toContain(`${home}.workspace`);
    expect(todo).toContain(`cp -Rn '${home}/workspace/.'`);
  });

  it("reports and corrects files that others can read", async () => {
    await furnish();
    chmodSync(home, 0o755);
    chmodSync(database, 0o644);
    const report = await runDoctor();
    expect(listProblems(report)).toEqual(["problem permissions"]);
    expect(report.code).toBe(1);
    expect((await runDoctor("--fix")).code).toBe(0);
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(statSync(database).mode & 0o777).toBe(0o600);
  });

  const idOf = "(select n * 16777216 from sessions where id = 'origin')";
  it.each<[string, string[], (db: Database.Database) => unknown]>([
    [
      "missing index rows",
      ["search_index"],
      (db) => {
        db.exec(`insert into words (words, rowid, terms) values ('delete', ${idOf} + 1, 'one')`);
      },
    ],
    [
      "extra index rows",
      ["search_index"],
      (db) => {
        db.exec("insert into words (rowid, terms) values (99999999999, 'ghost')");
      },
    ],
    ["an emptied index", ["search_index"], (db) => db.exec("insert into words(words) values ('delete-all')")],
    [
      "wrong counts",
      ["counters"],
      (db) => db.exec("update sessions set human_count = 7 where id = 'origin'"),
    ],
    ["wrong tool counts", ["counters"], (db) => db.exec("update sessions set tool_call_count = 0")],
    [
      "a next seq too high",
      ["counters"],
      (db) => {
        db.exec("update sessions set next_seq = next_seq + 3 where id = 'heir'");
      },
    ],
    [
      "a next seq too low",
      ["counters"],
      (db) => {
        db.exec("update sessions set next_seq = 2, indexed_seq = 1 where id = 'origin'");
      },
    ],
    [
      "tokens without a model request",
      ["usage"],
      (db) => {
        db.exec("update sessions set input_tokens = 7, cost_usd = 0.5 where id = 'origin'");
      },
    ],
    [
      "model requests that are missing in the session's counters",
      ["usage"],
      (db) => {
        db.exec(`insert into usage (session, at, purpose, input_tokens)
          select n, 0, 'title', 5 from sessions where id = 'origin'`);
      },
    ],
    ["a wrong time of the last activity", ["counters"], (db) => db.exec("update sessions set last_at = 5")],
    [
      "a range of a missing session",
      ["views"],
      (db) => {
        db.exec(
          "insert into pieces select session, version, 90, 4711, 1, 2 from views where session = 6 and version = 1",
        );
      },
    ],
    [
      "a session without its ranges",
      ["views"],
      (db) => {
        db.exec(
          "delete from pieces where session = 6 and version = (select version from sessions where n = 6)",
        );
      },
    ],
    [
      "a conversation without its session",
      ["foreign_keys", "conversations"],
      (db) => {
        db.exec("update conversations set session = 4711 where n = 2");
      },
    ],
    [
      "messages without their session",
      ["foreign_keys", "sessions", "search_index"],
      (db) => {
        db.exec("delete from sessions where id = 'heir'; delete from sessions where id = 'origin'");
      },
    ],
    ["attachments without a recorded use", ["blob_uses"], (db) => db.exec("delete from blob_uses")],
    [
      "unused attachments",
      ["blob_uses"],
      (db) => {
        db.exec(`insert into blobs values ('${"ab".repeat(32)}', 1, x'00')`);
      },
    ],
    ["missing people", ["foreign_keys"], (db) => db.exec("delete from people")],
    [
      "approvals, codes and permissions of missing people and sessions",
      ["access"],
      (db) => {
        db.exec(`insert into approvals (session, conversation, person, turn, target, request, asked_at, deadline)
            values (6, 1, 'p_gone', 1, '{}', '{"title":"?"}', 1, 1);
          insert into allowed (person, pattern, session, at) values ('p_gone', 'ls', 0, 1), ('owner', 'ls', 4711, 1);
          insert into pairings (platform, person, salt, hash, asked_at, expires_at) values ('telegram', 'p_gone', 's', 'h', 1, 1)`);
      },
    ],
    [
      "approvals of missing sessions",
      ["foreign_keys"],
      (db) => {
        db.exec(`insert into approvals (session, conversation, person, turn, target, request, asked_at, deadline)
            values (4711, 1, 'owner', 1, '{}', '{"title":"?"}', 1, 1)`);
      },
    ],
  ])("finds %s, and repairs it", async (_, checks, change) => {
    await furnish();
    damage(change);
    const found = await runDoctor();
    expect(found.code).toBe(1);
    const problems = found.checks.filter(({ state }) => state === "problem");
    for (const check of checks) expect(problems.map((one) => one.check)).toContain(check);
    for (const { todo } of problems) expect(todo).toMatch(/--fix/);
    const mended = await runDoctor("--fix");
    expect(mended.fixed.length).toBeGreaterThan(0);
    expect([mended.code, listProblems(mended)]).toEqual([0, []]);
    expect(listProblems(await runDoctor("--full"))).toEqual([]);

    // The repaired home is usable.
    const store = await sqliteStore({ file: database, mode: "in-process" });
    onTestFinished(() => store.close());
    const sessions = createSessions({ store });
    for (const { id } of (await sessions.list({ everyone: true }, { limit: 100 })).items) {
      expect(await sessions.history({ everyone: true }, id)).toBeDefined();
      await sessions.append({ everyone: true }, id, { role: "user", text: "afterwards" });
    }
    expect((await sessions.search({ everyone: true }, "夜景")).length).toBe(5);
  });

  it("finds wrong words in the index with --full", async () => {
    await furnish();
    damage((db) => {
      db.exec(`insert into words (words, rowid, terms) values ('delete', ${idOf} + 1, 'one');
        insert into words (rowid, terms) values (${idOf} + 1, 'eleven')`);
    });
    expect(listProblems(await runDoctor())).toEqual([]);
    expect(listProblems(await runDoctor("--full"))).toEqual(["problem search_index"]);
    expect(listProblems(await runDoctor("--full", "--fix"))).toEqual([]);
  });

  it("warns about lost messages and attachments, which cannot be repaired", async () => {
    await furnish();
    damage((db) => {
      db.exec(`delete from messages where id = ${idOf} + 2; delete from blob_uses; delete from blobs`);
    });
    const report = await runDoctor("--fix");
    expect(listProblems(report).sort()).toEqual(["warning attachments", "warning messages", "warning views"]);
  });

  it("warns about crashed processes, their leases, and pending messages", async () => {
    await furnish();
    const store = await sqliteStore({ file: database, mode: "in-process" });
    const dead = { ...localRunner(), pid: 4_194_999 };
    await store.runners.recordHeartbeat({ runner: dead, now: Date.now() });
    damage((db) =>
      db
        .prepare("insert into leases (name, runner, fence, until) values ('expiry', ?, 1, ?)")
        .run(dead.id, Date.now() + 1e9),
    );
    await store.inbox.accept({
      ...buildRouting({ platform: "telegram", chatId: 1, userId: 1 }, settings),
      messageId: "late",
      message: { role: "user", parts: [{ type: "text", text: "anybody?" }] },
    });
    await store.close();
    const report = await runDoctor();
    expect(listProblems(report)).toEqual(["warning runners", "warning leases", "warning inbox"]);
    expect(report.code).toBe(0);
    expect(listProblems(await runDoctor("--fix"))).toEqual(["warning inbox"]);
  });

  it("reads no message with --quick, and reports which checks it skipped", async () => {
    await furnish();
    damage((db) => {
      db.exec("update sessions set config = '{broken' where id = 'origin'");
      db.exec("update messages set meta = '{broken' where id = (select max(id) from messages)");
    });
    const { checks, code } = await runDoctor("--quick");
    expect(code).toBe(1);
    const names = checks.map(({ check }) => check);
    for (const left of ["integrity", "counters", "messages", "attachments", "search_index"])
      expect(names).not.toContain(left);
    expect(checks.filter(({ state }) => state === "problem").map(({ text }) => text)).toEqual([
      expect.stringMatching(/^sessions\.config is not readable in 1 row: \w+\.$/),
    ]);
    expect(checks.find(({ check }) => check === "depth")?.text).toContain("were not checked");
    const whole = await runDoctor();
    expect(whole.checks.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^messages\.meta is not readable in 1 row: \d+:\d+\.$/),
    );
    expect(await runCommand(home, ["doctor", "--quick", "--fix"])).toMatchObject({ code: 2 });
  });

  it("reports its progress to a callback, and writes none to a pipe", async () => {
    await furnish();
    const steps: string[] = [];
    checkDatabase(database, {
      depth: "usual",
      now: Date.now(),
      onStep: (done, all, check) => steps.push(`${done} of ${all} ${check}`),
    });
    expect(steps[0]).toBe("0 of 12 integrity");
    expect(steps.at(-1)).toBe("12 of 12 ");
    expect((await cli(home, "doctor")).err).toBe("");
  });

  it.each<[string, string, RegExp, () => void]>([
    [
      "a damaged page",
      "integrity",
      /damaged/,
      () => {
        const bytes = readFileSync(database);
        const root = look(
          database,
          (db) =>
            db.prepare("select rootpage from sqlite_schema where name = 'messages'").pluck().get() as number,
        );
        bytes.fill(0xa5, (root - 1) * 4096, root * 4096);
        writeFileSync(database, bytes);
      },
    ],
    ["a newer schema", "schema", /newer Postrider/, () => damage((db) => db.pragma("user_version = 99"))],
    ["no database", "database", /not a database/, () => writeFileSync(database, "hello ".repeat(5000))],
    ["an empty file", "database", /empty/, () => writeFileSync(database, "")],
    [
      "another program's database",
      "database",
      /not one of Postrider/,
      () => damage((db) => db.pragma("application_id = 5")),
    ],
  ])("reports %s with instructions, and changes nothing", async (_, check, sentence, change) => {
    await furnish();
    change();
    const before = readFileSync(database);
    for (const args of [[], ["--fix"], ["--full", "--fix"]]) {
      const report = await runDoctor(...args);
      expect(report.code).toBe(1);
      const found = report.checks.find((one) => one.check === check);
      expect(found).toMatchObject({ state: "problem", text: expect.stringMatching(sentence) });
      expect(found?.todo).toMatch(/\w/);
    }
    expect(readFileSync(database).equals(before)).toBe(true);
  });

  it("reports a write-ahead log without its database", async () => {
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(`${database}-wal`, "frames", { mode: 0o600 });
    const report = await runDoctor("--fix");
    expect([report.code, listProblems(report)]).toEqual([1, ["problem database"]]);
    expect(existsSync(database)).toBe(false);
  });
});
