import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEPT_OUTPUT, type NewProcess } from "../../core/process.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import type { ErasureProgress } from "../../ports/access-store.ts";
import { openWriter, type SqliteDb } from "../sqlite/connection.ts";
import { erasePerson } from "./erase-person.ts";
import { readProcessOutput } from "./process-reads.ts";
import { appendProcessOutput, beginProcess, endProcess, markProcessRunning } from "./processes.ts";
import { remove } from "./removal.ts";
import { create } from "./sessions.ts";

const T0 = Date.UTC(2026, 2, 15);
const ann = { person: "owner" };

let folder: string;
let db: SqliteDb;
let made = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postrider-processes-"));
  db = openWriter({ file: join(folder, "postrider.db") });
  db.run("insert into people (id, created_at) values ('owner', 0)");
  create(db, { session: { id: "s1", kind: "chat", owner: "owner" }, profile: "main", now: T0 });
});
afterEach(async () => {
  db.close();
  await rm(folder, { recursive: true, force: true });
});

/** Starts a process; returns its id. */
function running(): string {
  made += 1;
  const id = `proc_${made.toString(16).padStart(12, "0")}`;
  const watch = { mode: "off", patterns: [], wakes: false } as const;
  const process: NewProcess = { id, command: "make", cwd: "/", background: true, pty: false, watch };
  const target = { platform: "terminal", chatType: "dm", chatId: "here" };
  throwIfRefused(
    beginProcess(db, { process, session: "s1", conversation: 0, target, maxRunning: 1e6, now: T0 }),
  );
  throwIfRefused(markProcessRunning(db, { id, keeper: "k", pid: 1, startTime: "1", pty: false }));
  return id;
}

function rowsOf(id: string): number {
  const counted = db.get<{ n: number }>(
    "select count(*) as n from process_output where process = (select n from processes where id = ?)",
    id,
  );
  return counted?.n ?? 0;
}

describe("the output of a process", () => {
  /** Any UTF-16, also halves of surrogate pairs, in pieces of any length; long ones by repetition. */
  const piece = fc
    .tuple(
      fc.string({ unit: fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 40 }),
      fc.constantFrom(1, 1, 1, 50, 3_000, 30_000),
    )
    .map(([text, times]) => text.repeat(times));

  it("is read back exactly, as the last part, for any text in any pieces", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.nat({ max: 250_000 }), (pieces, limit) => {
        const id = running();
        let all = "";
        for (const text of pieces) {
          appendProcessOutput(db, { id, keeper: "k", from: all.length, text });
          all += text;
        }
        // Half a pair at either end may belong to text outside the requested range.
        const without = (text: string) =>
          text.replace(/^[\udc00-\udfff]/, "").replace(/[\ud800-\udbff]$/, "");
        const whole = readProcessOutput(db, { asker: ann, id });
        expect(whole?.total).toBe(all.length);
        expect(whole?.text === without(all.slice(-KEPT_OUTPUT))).toBe(true);
        const last = readProcessOutput(db, { asker: ann, id, limit });
        const length = Math.min(limit, KEPT_OUTPUT);
        expect(last?.text === without(length === 0 ? "" : all.slice(-length))).toBe(true);
        const from = Math.floor(limit / 2);
        const rest = readProcessOutput(db, { asker: ann, id, from });
        const start = Math.max(from, all.length - KEPT_OUTPUT);
        expect(rest?.text === without(all.slice(start))).toBe(true);
        expect(all.startsWith(rest?.text ?? "?", rest?.from)).toBe(true);
        endProcess(db, { id, exit: { code: 0 }, now: T0 });
      }),
      { numRuns: 60 },
    );
  });

  it("takes a bounded number of rows, even if a process prints letter by letter", () => {
    const id = running();
    db.run("begin");
    for (let from = 0; from < 30_000; from += 1)
      appendProcessOutput(db, { id, keeper: "k", from, text: "." });
    db.run("commit");
    expect(readProcessOutput(db, { asker: ann, id })?.text).toBe(".".repeat(30_000));
    expect(rowsOf(id)).toBeLessThan(10);
  });

  it("leaves no row before the kept part", () => {
    const id = running();
    for (let from = 0; from < 3 * KEPT_OUTPUT; from += 5_000)
      appendProcessOutput(db, { id, keeper: "k", from, text: "x".repeat(5_000) });
    expect(rowsOf(id)).toBe(KEPT_OUTPUT / 5_000);
    appendProcessOutput(db, { id, keeper: "k", from: 3 * KEPT_OUTPUT, text: "y".repeat(2 * KEPT_OUTPUT) });
    expect(rowsOf(id)).toBe(1);
  });

  it("leaves no letter in the file after it was dropped, its session was removed or its person was erased", () => {
    const secrets = ["first-secret", "second-secret", "third-secret"];
    const [rolled, removed, erased] = secrets;
    const first = running();
    appendProcessOutput(db, { id: first, keeper: "k", from: 0, text: `${rolled}${"x".repeat(5_000)}` });
    appendProcessOutput(db, { id: first, keeper: "k", from: 5_012, text: "x".repeat(KEPT_OUTPUT) });
    endProcess(db, { id: first, exit: { code: 0 }, output: { from: 205_012, text: removed ?? "" }, now: T0 });
    expect(left()).toEqual([removed]);
    expect(remove(db, { asker: ann, session: "s1", now: T0 })).toBe(true);
    expect(left()).toEqual([]);
    create(db, { session: { id: "s1", kind: "chat", owner: "owner" }, profile: "main", now: T0 });
    const second = running();
    appendProcessOutput(db, { id: second, keeper: "k", from: 0, text: erased ?? "" });
    expect(left()).toEqual([erased]);
    endProcess(db, { id: second, exit: { code: 0 }, now: T0 });
    for (let step: ErasureProgress = { done: false }; !step.done; )
      step = throwIfRefused(erasePerson(db, { person: "owner", limit: 9, now: T0, ...step }));
    expect(left()).toEqual([]);

    function left(): string[] {
      db.pragma("wal_checkpoint(truncate)");
      const bytes = readFileSync(join(folder, "postrider.db"), "latin1");
      return secrets.filter((secret) => bytes.includes(secret));
    }
  });
});
