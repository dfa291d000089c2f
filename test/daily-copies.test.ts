import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startDailyCopies } from "../src/apps/daily-copies.ts";
import { type Home, resolveHome } from "../src/apps/home.ts";
import { createSessions, localRunner, OWNER, type Store, sqliteStore } from "../src/index.ts";
import { fakeCopyClock } from "./daily-copies/fake-clock.ts";
import { startChild } from "./support/child.ts";
import { textsIn } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";

const who = { person: OWNER };
const HOUR = 3600_000;
const START = Date.UTC(2026, 2, 15, 9, 24, 37);
let home: Home;
let store: Store;
let runner: string;

beforeEach(async () => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  home = resolveHome({ POSTRIDER_HOME: join(temporary.path, "home") });
  mkdirSync(home.folder, { mode: 0o700 });
  store = await sqliteStore({ file: home.database });
  onTestFinished(() => store.close());
  const me = localRunner();
  runner = me.id;
  await store.runners.recordHeartbeat({ runner: me, now: Date.now() });
});

function start(notices: string[] = []) {
  const clock = fakeCopyClock(START);
  const copies = startDailyCopies({ home, store, runner, notice: (text) => notices.push(text), clock });
  onTestFinished(() => copies.stop());
  return { clock, copies };
}

describe("daily copies", () => {
  it("are made once a day, contain all messages, and the newest seven are kept", async () => {
    const sessions = createSessions({ store });
    const { id } = await sessions.create(who);
    const { clock } = start();
    for (let day = 1; day <= 8; day += 1) {
      await sessions.append(who, id, { role: "user", text: `day ${day}` });
      await clock.pass(24 * HOUR);
    }
    const names = readdirSync(home.backups).sort();
    expect(names).toHaveLength(7);
    expect(names[0]).toMatch(/^postrider-20260316T\d{6}Z\.db$/);
    expect(names[6]).toMatch(/^postrider-20260322T\d{6}Z\.db$/);
    for (const [index, name] of names.entries()) {
      const file = join(home.backups, name);
      expect(textsIn(file)).toHaveLength(index + 2);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    expect(statSync(home.backups).mode & 0o777).toBe(0o700);
  });

  it("start only after a delay, change no other files, and ignore a copy with a future date", async () => {
    mkdirSync(home.backups, { mode: 0o700 });
    const mine = ["my own.db", "postrider-20200101T000000Z.db.txt"];
    for (const name of [
      ...mine,
      "postrider-20990101T000000Z.db",
      "postrider-20260101T000000Z.db.new-1-00000000",
    ])
      writeFileSync(join(home.backups, name), "x");
    const { clock } = start();
    await clock.pass(10_000);
    expect(readdirSync(home.backups)).toHaveLength(4);
    await clock.pass(HOUR);
    const made = readdirSync(home.backups).filter((name) => name.startsWith("postrider-20260315"));
    expect(readdirSync(home.backups).sort()).toEqual(
      [...mine, ...made, "postrider-20990101T000000Z.db"].sort(),
    );
    expect(made).toHaveLength(1);
  });

  it("are made once by two processes, and by the other one after a crash", async () => {
    const children = [1, 2].map(() =>
      startChild(new URL("./daily-copies/child.ts", import.meta.url), [home.folder, String(START)]),
    );
    for (const child of children) {
      onTestFinished(() => void child.process.kill("SIGKILL"));
      await child.heard<{ step: string }>(({ step }) => step === "ready");
    }
    const passed = (ms: number, of = children) =>
      Promise.all(
        of.map((child) => {
          child.tell(ms);
          return child.heard<{ step: string; ms: number }>(
            (line) => line.step === "passed" && line.ms === ms,
          );
        }),
      );
    await passed(HOUR);
    expect(readdirSync(home.backups)).toHaveLength(1);
    const [first, second] = children;
    if (first === undefined || second === undefined) throw new Error("unreachable");
    first.process.kill("SIGKILL");
    await first.ended;
    await passed(25 * HOUR, [second]);
    expect(readdirSync(home.backups)).toHaveLength(2);
    expect(second.lines.filter((line) => "notice" in (line as object))).toEqual([]);
  });

  it("are left to the lease holder, and made when it releases the lease without a copy", async () => {
    const other = { ...localRunner(), id: "another" };
    await store.runners.recordHeartbeat({ runner: other, now: Date.now() });
    const lease = { name: "backup", runner: other.id, ttlMs: 100 * HOUR, now: START };
    expect(await store.runners.acquireLease(lease)).toBeDefined();
    const { clock } = start();
    await clock.pass(2 * HOUR);
    expect(existsSync(home.backups)).toBe(false);
    await store.runners.releaseLease({ name: "backup", runner: other.id });
    await clock.pass(2 * HOUR);
    expect(readdirSync(home.backups)).toHaveLength(1);
  });

  it("that fail are reported once, and throw nothing", async () => {
    // A file in place of the folder: not writable for any user.
    writeFileSync(home.backups, "");
    const notices: string[] = [];
    const { clock } = start(notices);
    await clock.pass(5 * HOUR);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/^The daily copy failed: .*\S$/);
  });

  it("report a second failure after a successful copy", async () => {
    const notices: string[] = [];
    const { clock } = start(notices);
    await clock.pass(HOUR);
    expect(notices).toEqual([]);
    rmSync(home.backups, { recursive: true });
    writeFileSync(home.backups, "");
    await clock.pass(25 * HOUR);
    expect(notices).toHaveLength(1);
    rmSync(home.backups);
    await clock.pass(HOUR);
    expect(readdirSync(home.backups)).toHaveLength(1);
    rmSync(home.backups, { recursive: true });
    writeFileSync(home.backups, "");
    await clock.pass(25 * HOUR);
    expect(notices).toHaveLength(2);
  });

  // Root can write to every folder; the test above with a file in its place fails for every user.
  it.skipIf(process.getuid?.() === 0)("report a folder that is not writable", async () => {
    mkdirSync(home.backups);
    chmodSync(home.backups, 0o500);
    const notices: string[] = [];
    const { clock } = start(notices);
    await clock.pass(5 * HOUR);
    expect(notices).toHaveLength(1);
  });

  it("do not block the event loop, and leave no partial file when they are stopped", async () => {
    const sessions = createSessions({ store });
    const { id } = await sessions.create(who);
    for (let n = 0; n < 20; n += 1)
      await sessions.append(who, id, { role: "note", text: `${n} ${"lorem ipsum ".repeat(100_000)}` });
    const { clock, copies } = start();
    const heldUpMs: number[] = [];
    for (const hours of [1, 25, 25]) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await clock.pass(hours * HOUR);
      delay.disable();
      heldUpMs.push(delay.percentile(99) / 1e6);
    }
    expect(readdirSync(home.backups)).toHaveLength(3);
    // The minimum is due to the copy; higher values are due to other work of the machine.
    expect(Math.min(...heldUpMs)).toBeLessThan(25);
    const passing = clock.pass(25 * HOUR);
    await copies.stop();
    await Promise.race([passing, Promise.resolve()]);
    expect(readdirSync(home.backups).filter((name) => name.includes(".new-"))).toEqual([]);
    expect(
      await store.runners.acquireLease({ name: "backup", runner: "another", ttlMs: 1000, now: Date.now() }),
    ).toBeDefined();
  });
});
