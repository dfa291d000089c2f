import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { buildRouting, createSessions, isRefused, localRunner, OWNER, sqliteStore } from "../src/index.ts";
import type { SaidByWriter } from "./full-disk/child.ts";
import { type Child, startChild } from "./support/child.ts";
import { cli, cliOnFullDisk } from "./support/cli.ts";
import { commitsInLog, indexed, look, textsIn } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { settings } from "./support/routing.ts";

const who = { person: OWNER };
const BIG = "x".repeat(400_000);

function newFile(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return join(folder.path, "postrider.db");
}

/** `ok`, or the code of the error, in the order of the calls. */
async function outcomes(calls: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => (one.status === "fulfilled" ? "ok" : String(one.reason.code)));
}

describe.each(["workers", "in-process"] as const)("a database that cannot grow (%s)", (mode) => {
  it("keeps only the acknowledged calls of a batch if one has no space, and continues", async () => {
    const file = newFile();
    const roomy = await sqliteStore({ file, mode });
    const before = createSessions({ store: roomy });
    await before.create(who, { id: "ballast" });
    await before.append(who, "ballast", { role: "note", text: BIG });
    await before.create(who, { id: "talk" });
    await indexed(file);
    await roomy.close();
    const pages = look(file, (db) => Number(db.pragma("page_count", { simple: true })));

    // Space for 40 more pages: a few small messages with their index entries, but not a hundred pages at once.
    const store = await sqliteStore({ file, mode, maxBytes: (pages + 40) * 4096 });
    onTestFinished(() => store.close());
    const sessions = createSessions({ store });
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: Date.now() });
    const accept = (messageId: string) =>
      store.inbox.accept({
        ...buildRouting({ platform: "telegram", chatId: "7", userId: "7" }, settings),
        messageId,
        message: { role: "user", parts: [{ type: "text", text: messageId }] },
        claim: { runner: runner.id, take: "one" },
      });
    await indexed(file);

    // Without a failure, the calls of one tick are one commit (the index may add its own).
    const start = commitsInLog(file);
    const calm = [
      sessions.append(who, "talk", [note("calm 1"), note("calm 2")]),
      accept("calm accepted"),
      sessions.recordUsage(who, "talk", { inputTokens: 1 }),
    ];
    expect(await outcomes(calm)).toEqual(["ok", "ok", "ok"]);
    expect(commitsInLog(file) - start).toBeGreaterThanOrEqual(1);
    expect(commitsInLog(file) - start).toBeLessThanOrEqual(2);
    await indexed(file);

    // After a failure, SQLite rolls everything back: each call that can be stored gets its own commit.
    const middle = commitsInLog(file);
    const batch = [
      sessions.append(who, "talk", [note("a 1"), note("a 2")]),
      accept("b"),
      sessions.append(who, "talk", [note("c 1"), note(BIG), note("c 3")]),
      sessions.append(who, "talk", note("d")),
    ];
    expect(await outcomes(batch)).toEqual(["ok", "ok", "disk_full", "ok"]);
    expect(commitsInLog(file) - middle).toBeGreaterThanOrEqual(3);

    // With space again, the same store accepts the refused call.
    expect(await sessions.remove(who, "ballast")).toBe(true);
    const again = [sessions.append(who, "talk", [note("e 1"), note(BIG)]), accept("f")];
    expect(await outcomes(again)).toEqual(["ok", "ok"]);
    await store.close();

    const reopened = await sqliteStore({ file, mode });
    onTestFinished(() => reopened.close());
    const said = await createSessions({ store: reopened }).history(who, "talk");
    const texts = said?.map(({ parts: [part] }) => (part?.type === "text" ? part.text : ""));
    expect(texts).toEqual(["calm 1", "calm 2", "a 1", "a 2", "d", "e 1", BIG]);
    const inbox = "select message_id from inbox order by n";
    expect(look(file, (db) => db.prepare(inbox).pluck().all())).toEqual(["calm accepted", "b", "f"]);
    expect(textsIn(file)).toHaveLength(8); // the seven, and the input that started the turn
    expect(look(file, (db) => db.pragma("integrity_check", { simple: true }))).toBe("ok");
  });

  it("can remove a session with its index entries when no page is free", async () => {
    const file = newFile();
    const store = await sqliteStore({ file, mode, maxBytes: 1024 * 1024 });
    onTestFinished(() => store.close());
    const sessions = createSessions({ store });
    for (const id of ["old", "new"]) await sessions.create(who, { id });
    const say = (id: string, n: number, length: number) =>
      sessions.append(who, id, {
        role: "user",
        text: Array.from({ length }, (_, i) => `w${n}w${i}`).join(" "),
      });
    for (let n = 0; n < 50; n += 1) await say("old", n, 100);
    await indexed(file);
    // Ever smaller, until not even one word fits.
    const stored: number[] = [];
    for (let n = 50, length = 1000; length > 0; n += 1) {
      const [outcome] = await outcomes([say("new", n, length)]);
      if (outcome === "ok") stored.push(n);
      else {
        expect(outcome).toBe("disk_full");
        length = Math.floor(length / 2);
      }
    }
    expect(look(file, (db) => db.pragma("freelist_count", { simple: true }))).toBe(0);
    expect(await sessions.remove(who, "old")).toBe(true);
    expect(await outcomes([say("new", 9999, 1000)])).toEqual(["ok"]);
    const kept = await sessions.history(who, "new");
    expect(kept).toHaveLength(stored.length + 1);
    expect(await sessions.search(who, "w49w99")).toEqual([]);
    expect(await sessions.search(who, "w9999w999")).toHaveLength(1);
  });
});

describe.each(["workers", "in-process"] as const)("a disk that is full (%s)", (mode) => {
  // Only Linux can raise the limit of a running process.
  it.skipIf(process.platform !== "linux")(
    "keeps only acknowledged calls, and continues in the same process when there is space",
    async () => {
      const file = newFile();
      const store = await sqliteStore({ file, mode });
      const made = await store.sessions.create({
        session: { id: "talk", kind: "chat", owner: OWNER },
        profile: "main",
        now: Date.now(),
      });
      expect(isRefused(made)).toBe(false);
      await store.close();

      // No file of the child can grow beyond 4 MiB: for SQLite this is a full disk.
      const child = startChild(new URL("./full-disk/child.ts", import.meta.url), [file, mode], (command) => [
        "bash",
        "-c",
        'ulimit -S -f 4096; exec "$0" "$@"',
        ...command,
      ]);
      onTestFinished(() => void child.process.kill("SIGKILL"));

      const batch = await said(child, "batch");
      expect(batch.outcomes).toEqual(["ok", "ok", "disk_full", "ok"]);
      expect(batch.commits).toBeGreaterThanOrEqual(3);
      expect(batch.commitsOfOneTick).toBeLessThanOrEqual(2);

      const filled = await said(child, "filled");
      expect(filled.outcomes.at(-1)).toBe("disk_full");
      expect(filled.outcomes.filter((one) => one === "ok").length).toBeGreaterThan(10);

      execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
      child.tell("go on");
      const after = await said(child, "after");
      expect(new Set(after.outcomes)).toEqual(new Set(["ok"]));
      expect((await child.ended).code).toBe(0);

      const reopened = await sqliteStore({ file });
      onTestFinished(() => reopened.close());
      const kept = await createSessions({ store: reopened }).history(who, "talk");
      const names = kept?.map(({ parts: [part] }) => (part?.type === "text" ? part.text.split(" ")[0] : ""));
      expect(names).toEqual([...batch.stored, ...filled.stored, ...after.stored]);
      expect(textsIn(file)).toHaveLength(names?.length ?? 0);
      expect(look(file, (db) => db.pragma("integrity_check", { simple: true }))).toBe("ok");
    },
  );
});

it.skipIf(process.platform === "win32")(
  "reports that there is no space if the disk is too full to open the database of a killed process",
  async () => {
    const file = newFile();
    const left = join(dirname(file), "left");
    const store = await sqliteStore({ file, mode: "in-process" });
    await createSessions({ store }).create(who, { id: "talk" });
    // As after a kill: a write-ahead log, and no usable shared memory.
    mkdirSync(left, { mode: 0o700 });
    for (const suffix of ["", "-wal"]) copyFileSync(file + suffix, join(left, `postrider.db${suffix}`));
    await store.close();
    const { code, err } = await cliOnFullDisk(left, 8, "sessions", "list");
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("There is no space") });
    expect(await cli(left, "sessions", "list")).toMatchObject({ code: 0 });
  },
);

function note(text: string): { role: "note"; text: string } {
  return { role: "note", text };
}

function said(child: Child, step: SaidByWriter["step"]): Promise<SaidByWriter> {
  return child.heard<SaidByWriter>((line) => line.step === step);
}
