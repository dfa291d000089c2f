import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { localRunner, sqliteStore } from "../src/index.ts";
import { check } from "./kill/checker.ts";
import { driveKills, type KillReport } from "./kill/drive.ts";
import type { Holding } from "./kill/holder.ts";
import { startChild } from "./support/child.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_260_301;
const KILLS = schedule(10, 50);

describe("a busy process that is killed repeatedly", () => {
  let folder: string;
  let file: string;
  let report: KillReport;

  beforeAll(async () => {
    const temporary = temporaryFolder();
    folder = temporary.path;
    file = join(folder, "postrider.db");
    report = await driveKills({ file, seed: SEED, kills: KILLS });
    const { kills, inFlight, operations } = report;
    console.log(`seed ${SEED}: kills ${kills}, in flight ${inFlight}, operations ${operations}`);
    return () => temporary.remove();
  }, 120_000);

  it("is killed during an operation at least every other time", () => {
    expect(report.kills).toBe(KILLS);
    expect(report.inFlight).toBeGreaterThanOrEqual(KILLS / 2);
    expect(report.operations).toBeGreaterThan(KILLS * 20);
    expect(report.errors).toEqual([]);
  });

  it("runs every operation of sessions", () => {
    const done = report.journal.filter(({ result }) => result !== undefined).map(({ name }) => name);
    const once =
      "create open append accept claim finish undo redo rewrite compress fork title usage hold remove";
    expect(new Set(done)).toEqual(new Set(once.split(" ")));
  });

  it("keeps every acknowledged operation once and complete, and no part of another one", () => {
    expect(report.lost).toEqual([]);
    expect(report.doubled).toEqual([]);
    expect(report.broken).toEqual([]);
  });

  it("syncs to disk before it acknowledges: synchronous is FULL", () => {
    expect(report.synchronous.length).toBeGreaterThan(KILLS / 2);
    expect(new Set(report.synchronous)).toEqual(new Set([2]));
  });

  // A check that cannot fail proves nothing: it must detect each of these errors.
  const textOf = (name: string): string => {
    const live = new Set(
      look(file, (db) => db.prepare("select id from sessions where removed_at is null").pluck().all()),
    );
    const one = report.journal.find(
      (operation) => operation.name === name && operation.result !== undefined && live.has(operation.session),
    );
    return `[${one?.key}] 1/${one?.count}%`;
  };
  it.each([
    ["lost", "an append", () => `delete from messages where text like '${textOf("append")}'`],
    ["lost", "an accepted message", () => `delete from messages where text like '${textOf("accept")}'`],
    ["lost", "an undo", () => "update views set kind = 'rewind' where kind = 'undo'"],
    ["lost", "a whole session", () => "pragma foreign_keys = off; delete from sessions where id like 'w%'"],
    ["lost", "a conversation", () => "delete from conversations"],
    ["lost", "a hold", () => "delete from holds"],
    ["lost", "a title", () => "update sessions set title = n where title is not null"],
    ["lost", "usage", () => "update sessions set input_tokens = 0"],
    ["doubled", "usage", () => "update sessions set input_tokens = input_tokens * 2 + 1"],
    [
      "doubled",
      "an append",
      () => `insert into messages (id, at, role, text) select (select max(id) from messages) + 1, at, role, text
        from messages where text like '${textOf("append")}'`,
    ],
    ["broken", "the inbox without an input", () => "delete from inbox"],
    ["broken", "an answer without its delivery", () => "delete from deliveries"],
    ["broken", "the index without its words", () => "insert into words(words) values ('delete-all')"],
    [
      "broken",
      "a fork that shows missing messages",
      () => "update pieces set to_seq = to_seq + 100000 where to_seq is not null",
    ],
  ])("is checked by a judge that detects: %s, %s", (kind, what, harm) => {
    const copy = join(folder, `${kind} ${what}.db`);
    look(file, (db) => db.prepare("vacuum into ?").run(copy));
    const db = new Database(copy);
    db.exec(harm());
    db.close();
    expect(check(copy, report.journal, true)[kind as "lost" | "doubled" | "broken"]).not.toEqual([]);
  });
});

describe("a turn whose process was killed", () => {
  it.each([
    ["and reaped", (command: readonly string[]) => command],
    [
      // Its parent process was replaced by another program, which never waits for its children.
      "and a zombie",
      (command: readonly string[]) => ["bash", "-c", '"$0" "$@" <&0 & exec sleep 60', ...command],
    ],
    // Only Linux reports the start time of a process, and that a zombie has ended.
  ])(
    "is taken over at once by another process: the process is dead %s",
    { skip: process.platform !== "linux" },
    async (how, wrap) => {
      const folder = temporaryFolder();
      onTestFinished(() => folder.remove());
      const file = join(folder.path, "postrider.db");
      const child = startChild(new URL("./kill/holder.ts", import.meta.url), [file], wrap);
      onTestFinished(() => void child.process.kill("SIGKILL"));
      const { pid, session, turn } = await child.heard<Holding>(() => true);

      const store = await sqliteStore({ file });
      onTestFinished(() => store.close());
      const runner = localRunner();
      await store.runners.recordHeartbeat({ runner, now: Date.now() });
      const claim = () => store.turns.claim({ session, runner: runner.id, take: "one", now: Date.now() });
      expect(await claim()).toBeUndefined();

      process.kill(pid, "SIGKILL");
      if (how === "and reaped") await child.ended;
      // The kernel notifies only the parent, and needs a moment to end the process.
      else while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await new Promise(setImmediate);
      expect(await claim()).toMatchObject({ number: turn, attempt: 2 });
    },
  );
});
