import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { main } from "../src/apps/cli/main.ts";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
import type { SaidByTalker } from "./backup/writer.ts";
import { startChild } from "./support/child.ts";
import { cli, cliOnFullDisk } from "./support/cli.ts";
import { runCommand } from "./support/command.ts";
import { look, textsIn } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";

const who = { person: OWNER };
let folder: string;
let home: string;
let database: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  folder = temporary.path;
  home = join(folder, "home");
  database = join(home, "postrider.db");
});

/** A home with these messages. */
async function homeWith(where: string, ...words: string[]): Promise<void> {
  mkdirSync(where, { recursive: true, mode: 0o700 });
  const store = await sqliteStore({ file: join(where, "postrider.db"), mode: "in-process" });
  const sessions = createSessions({ store });
  const { id } = await sessions.create(who);
  for (const text of words) await sessions.append(who, id, { role: "user", text });
  await store.close();
}

function hashOf(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

describe("postrider backup", () => {
  it("copies one instant while 64 sessions of another process write, and restores it", async () => {
    mkdirSync(home, { mode: 0o700 });
    const talker = startChild(new URL("./backup/writer.ts", import.meta.url), [database]);
    onTestFinished(() => void talker.process.kill("SIGKILL"));
    await talker.heard<SaidByTalker>(({ step }) => step === "running");

    const file = join(folder, "copy.db");
    talker.tell("how far?");
    const before = await talker.heard<SaidByTalker>(({ step }) => step === "so far");
    const { code, out, err } = await cli(home, "backup", file, "--json");
    expect([code, err]).toEqual([0, ""]);
    // Later messages cannot be in the copy; 64 are in progress.
    const after = look(database, (db) => db.prepare("select max(n) from inbox").pluck().get() as number);
    talker.tell("stop");
    const stopped = await talker.heard<SaidByTalker>(({ step }) => step === "stopped");
    await talker.ended;
    if (before.step !== "so far" || stopped.step !== "stopped") throw new Error("unreachable");

    const result = JSON.parse(out);
    expect(result).toMatchObject({ file, sessions: 64, bytes: statSync(file).size, sha256: hashOf(file) });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(["copy.db", "home"]);

    const other = join(folder, "other home");
    expect(await cli(other, "restore", file)).toMatchObject({ code: 0, err: "" });
    const restored = join(other, "postrider.db");
    look(restored, (db) => {
      const all = (sql: string): unknown[][] => db.prepare(sql).raw().all() as unknown[][];
      expect(all("pragma integrity_check")).toEqual([["ok"]]);
      expect(result.messages).toBe(all("select id from messages").length);

      // These numbers follow the order of commits: the copy contains a prefix of them, without a gap.
      for (const table of ["inbox", "deliveries", "turns"]) {
        const numbers = all(`select n from ${table} order by n`).map(([n]) => n);
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
      }
      const [[accepted, last]] = all("select n, message_id from inbox order by n desc limit 1") as [
        [number, string],
      ];
      expect(accepted).toBeLessThanOrEqual(after);
      // Written by the same commit as the last accepted message.
      expect(all("select value from cursors")).toEqual([[last]]);

      const messages = new Map<number, [role: number, text: string][]>();
      for (const [session, role, text] of all("select id >> 24, role, text from messages order by id") as [
        number,
        number,
        string,
      ][]) {
        messages.set(session, [...(messages.get(session) ?? []), [role, text.split(" y")[0] ?? ""]]);
      }
      for (const [session, chat, nextSeq, humans, held, running, sent] of all(
        `select s.n, c.chat_id, s.next_seq, s.human_count, s.lease_holder is not null,
           (select count(*) from turns t where t.session = s.n and t.state = 'running'),
           (select count(*) from deliveries d where d.session = s.n)
         from sessions s join conversations c on c.session = s.n`,
      ) as [number, string, number, number, number, number, number][]) {
        const said = messages.get(session) ?? [];
        const name = Number(chat) - 1;
        const turns = Math.ceil(said.length / 2);
        // Questions and answers alternate; the last question may have a running turn, and then the session has a lease.
        expect(said).toEqual(
          Array.from({ length: said.length }, (_, at) => [
            at % 2,
            `${at % 2 === 0 ? "question" : "answer"} ${name}-${Math.floor(at / 2) + 1}`,
          ]),
        );
        const open = said.length % 2;
        expect([nextSeq, humans, held, running, sent]).toEqual([
          said.length + 1,
          turns,
          open,
          open,
          turns - open,
        ]);
        expect(turns - open).toBeGreaterThanOrEqual(before.finished[name] ?? 0);
        expect(turns - open).toBeLessThanOrEqual(stopped.finished[name] ?? 0);
      }
      expect(messages.size).toBe(64);
    });

    // Turns in progress can be claimed: no process of the old home holds a lease here.
    const running = look(restored, (db) =>
      db.prepare("select count(*) from turns where state = 'running'").pluck().get(),
    );
    const store = await sqliteStore({ file: restored });
    onTestFinished(() => store.close());
    expect((await store.turns.listClaimable({ now: Date.now() })).length).toBe(running);
  });

  it("writes only the result to stdout, and no progress without a terminal", async () => {
    await homeWith(home, "hello");
    const { code, out, err } = await cli(home, "backup", join(folder, "copy.db"));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/copy\.db: 1 session, 1 message, [\d.]+ kB, verified\.\n$/);
  });

  it("shows its progress in a terminal", async () => {
    await homeWith(home, "x".repeat(6_000_000));
    const [output, notices] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: true })];
    const environment = { ...process.env, POSTRIDER_HOME: home };
    const io = { input: new PassThrough(), output, notices, environment, now: Date.now };
    expect(await main(["backup", join(folder, "copy.db")], io)).toBe(0);
    const shown = String(notices.read());
    expect(shown).toMatch(/\rcopied \d+ %/);
    expect(shown.endsWith("\r\u001B[K")).toBe(true);
  });

  it("overwrites a file only with --force", async () => {
    await homeWith(home, "hello");
    const file = join(folder, "copy.db");
    writeFileSync(file, "something precious");
    const refused = await runCommand(home, ["backup", file]);
    expect(refused).toMatchObject({ code: 5, out: "" });
    expect(refused.err).toMatch(/exists already.*--force/);
    expect(readFileSync(file, "utf8")).toBe("something precious");
    expect(await runCommand(home, ["backup", file, "--force"])).toMatchObject({ code: 0 });
    expect(textsIn(file)).toEqual(["hello"]);
    for (const itself of [database, `${folder}/home/../home/postrider.db`]) {
      expect(await runCommand(home, ["backup", itself, "--force"])).toMatchObject({ code: 1 });
    }
    expect(textsIn(database)).toEqual(["hello"]);
  });

  it("creates no missing database, and no copy of a damaged one", async () => {
    const file = join(folder, "copy.db");
    expect(await runCommand(home, ["backup", file])).toMatchObject({ code: 3, out: "" });
    expect(readdirSync(folder)).toEqual([]);

    await homeWith(home, ...Array.from({ length: 40 }, (_, n) => `${n} ${"words ".repeat(400)}`));
    const bytes = readFileSync(database);
    const pages = bytes.length / 4096;
    bytes.fill(0xa5, (pages - 3) * 4096, (pages - 2) * 4096);
    writeFileSync(database, bytes);
    const { code, err } = await runCommand(home, ["backup", file, "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(err).error).toMatchObject({ code: "corrupt", details: { file: database } });
    expect(readdirSync(folder)).toEqual(["home"]);
  });

  it("leaves no partial copy on a full disk, and reports it", async () => {
    await homeWith(home, "x".repeat(3_000_000));
    const file = join(folder, "copy.db");
    const { code, out, err } = await cliOnFullDisk(home, 2000, "backup", file);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/no space/);
    expect(readdirSync(folder)).toEqual(["home"]);
    expect(textsIn(database)[0]).toHaveLength(3_000_000);
  });

  it("reports a folder that is not writable", async () => {
    await homeWith(home, "hello");
    const { code, err } = await runCommand(home, ["backup", join(folder, "nowhere", "copy.db")]);
    expect(code).toBe(1);
    expect(err).toMatch(/cannot be opened for writing/);
  });
});

describe("postrider restore", () => {
  let copy: string;

  beforeEach(async () => {
    copy = join(folder, "copy.db");
    const origin = join(folder, "origin");
    await homeWith(origin, "from the copy");
    await runCommand(origin, ["backup", copy]);
  });

  it("replaces a database only with --replace, and keeps the old one with its write-ahead log", async () => {
    await homeWith(home, "old words");
    // As a killed process leaves it: the newest messages are in the write-ahead log.
    const raw = new Database(database);
    raw.exec("update messages set text = 'newer words'");
    const left = join(folder, "left");
    cpSync(home, left, { recursive: true });
    raw.close();
    expect(statSync(join(left, "postrider.db-wal")).size).toBeGreaterThan(0);

    const refused = await runCommand(left, ["restore", copy]);
    expect(refused).toMatchObject({ code: 5, out: "" });
    expect(refused.err).toContain("--replace");
    expect(textsIn(join(left, "postrider.db"))).toEqual(["newer words"]);

    const { code, out, err } = await runCommand(left, ["restore", copy, "--replace", "--json"]);
    expect([code, err]).toEqual([0, ""]);
    const { kept, file } = JSON.parse(out);
    expect(file).toBe(join(left, "postrider.db"));
    expect(kept).toMatch(/postrider\.db\.replaced-\d{8}T\d{6}Z$/);
    expect(textsIn(kept)).toEqual(["newer words"]);
    expect(textsIn(file)).toEqual(["from the copy"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    // Twice in a second: each kept file has a unique name.
    expect(await runCommand(left, ["restore", copy, "--replace"])).toMatchObject({ code: 0 });
    expect(readdirSync(left).filter((name) => name.includes("replaced")).length).toBe(2);
  });

  it("keeps a damaged database and its write-ahead log when it replaces it", async () => {
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(database, "not a database any more".repeat(1000));
    writeFileSync(`${database}-wal`, "nor this");
    const { code, out } = await runCommand(home, ["restore", copy, "--replace", "--json"]);
    expect(code).toBe(0);
    const { kept } = JSON.parse(out);
    expect(readFileSync(kept, "utf8")).toMatch(/^not a database/);
    expect(readFileSync(`${kept}-wal`, "utf8")).toBe("nor this");
    expect(textsIn(database)).toEqual(["from the copy"]);
  });

  it("refuses while another process uses the home, and names it", async () => {
    await homeWith(home, "old words");
    const talker = startChild(new URL("./backup/writer.ts", import.meta.url), [database]);
    onTestFinished(() => void talker.process.kill("SIGKILL"));
    await talker.heard<SaidByTalker>(({ step }) => step === "running");
    const { code, err } = await cli(home, "restore", copy, "--replace", "--json");
    expect(code).toBe(5);
    expect(JSON.parse(err).error).toMatchObject({ code: "in_use", details: { pids: [talker.pid] } });
    talker.tell("stop");
    await talker.ended;

    // A process that only reads, without a runner, is detected too.
    const raw = new Database(database, { readonly: true });
    raw.prepare("select count(*) from messages").get();
    expect(await cli(home, "restore", copy, "--replace")).toMatchObject({ code: 5 });
    raw.close();
    expect(textsIn(database)).toContain("old words");
    expect(await cli(home, "restore", copy, "--replace")).toMatchObject({ code: 0 });
    expect(readdirSync(home).filter((name) => /\.new-|-wal$/.test(name))).toEqual([]);
  });

  it.each([
    ["a missing file", 3, /no file/, () => {}],
    ["an empty file", 1, /empty/, (file: string) => writeFileSync(file, "")],
    ["no database", 1, /not a database/, (file: string) => writeFileSync(file, "hello ".repeat(2000))],
    ["a folder", 1, /not a file/, (file: string) => mkdirSync(file)],
    [
      "another program's database",
      1,
      /not one of Postrider/,
      (file: string) => void new Database(file).exec("create table t (x)").close(),
    ],
    [
      "a newer schema",
      1,
      /newer Postrider/,
      (file: string, from: string) => {
        cpSync(from, file);
        const db = new Database(file);
        db.pragma("user_version = 999");
        db.close();
      },
    ],
    [
      "a damaged copy",
      1,
      /damaged/,
      (file: string, from: string) => {
        const bytes = readFileSync(from);
        bytes.fill(0x5a, 4096 * 5, 4096 * 9);
        writeFileSync(file, bytes);
      },
    ],
  ] as const)("refuses %s before anything is touched", async (_, expected, sentence, make) => {
    await homeWith(home, "old words");
    const file = join(folder, "wrong.db");
    make(file, copy);
    const before = hashOf(database);
    const { code, err } = await runCommand(home, ["restore", file, "--replace"]);
    expect(code).toBe(expected);
    expect(err).toMatch(sentence);
    expect(hashOf(database)).toBe(before);
    expect(textsIn(database)).toEqual(["old words"]);
    expect(readdirSync(home).filter((name) => name.includes(".new-") || name.includes("replaced"))).toEqual(
      [],
    );
  });

  it("keeps the old database on a full disk, and reports it", async () => {
    const origin = join(folder, "large");
    await homeWith(origin, "x".repeat(3_000_000));
    const large = join(folder, "large.db");
    await runCommand(origin, ["backup", large]);
    await homeWith(home, "old words");
    const { code, err } = await cliOnFullDisk(home, 2000, "restore", large, "--replace");
    expect(code).toBe(1);
    expect(err).toMatch(/no space/);
    expect(textsIn(database)).toEqual(["old words"]);
    expect(readdirSync(home).filter((name) => /new|replaced/.test(name))).toEqual([]);
  });

  it("restores the messages, and the session continues", async () => {
    expect(await cli(home, "restore", copy)).toMatchObject({ code: 0 });
    const store = await sqliteStore({ file: database, mode: "in-process" });
    onTestFinished(() => store.close());
    const sessions = createSessions({ store });
    const [hit] = await sessions.search(who, "copy");
    if (hit === undefined) throw new Error("the words are not found");
    await sessions.append(who, hit.session, { role: "user", text: "and on" });
    expect((await sessions.history(who, hit.session))?.length).toBe(2);
  });
});
