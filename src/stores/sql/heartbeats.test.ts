import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { DAY, openHome, START } from "../../../test/support/test-home.ts";
import { RUNNER_DEAD_MS } from "../../core/runner.ts";
import { localRunner } from "../../system/local-runner.ts";
import { openWriter } from "../sqlite/connection.ts";
import { listDatabaseUsers } from "../sqlite/upkeep/replace-database.ts";
import { acquireLease, listLeases, recordHeartbeat } from "./runners.ts";

afterEach(() => void vi.useRealTimers());

it("counts a remote runner whose clock was two days ahead as dead half a minute after its last heartbeat", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { store } = await openHome();
  const gone = { id: "gone", host: "elsewhere", boot: "b", pid: 1, started: "1" };
  const lease = { name: "expiry", ttlMs: RUNNER_DEAD_MS };
  await store.runners.recordHeartbeat({ runner: gone, now: START + 2 * DAY });
  await store.runners.acquireLease({ ...lease, runner: "gone", now: START + 2 * DAY });
  const take = () => store.runners.acquireLease({ ...lease, runner: "next", now: START });
  expect(await take(), "it may live: its clock may be the right one").toBeUndefined();
  vi.advanceTimersByTime(RUNNER_DEAD_MS - 1000);
  await store.runners.recordHeartbeat({ runner: gone, now: START + 2 * DAY + 1 });
  expect(await take()).toBeUndefined();
  vi.advanceTimersByTime(RUNNER_DEAD_MS - 1000);
  expect(await take(), "it has beaten since").toBeUndefined();
  vi.advanceTimersByTime(2000);
  expect(await take()).toBeDefined();
});

it("judges a runner in another container by its heartbeat, although host, boot and pid agree with a process here", async () => {
  const { store, file } = await openHome();
  const here = localRunner();
  const there = { ...here, id: "there", boot: here.boot.replace(/(\/.*)?$/, "/pid:[1]") };
  // No process here has this pid: as a runner of this namespace it would be dead at once.
  const gone = { ...there, id: "gone", pid: 4_194_999 };
  const lease = { name: "expiry", ttlMs: DAY };
  for (const runner of [there, gone]) {
    await store.runners.recordHeartbeat({ runner, now: START });
    expect(await store.runners.acquireLease({ ...lease, runner: runner.id, now: START })).toBeDefined();
    const take = (now: number) => store.runners.acquireLease({ ...lease, runner: "next", now });
    expect(await take(START + RUNNER_DEAD_MS), runner.id).toBeUndefined();
    expect(listDatabaseUsers(file, START), "it uses the database, under a pid of its own").toContain(
      runner.pid,
    );
    expect(await take(START + RUNNER_DEAD_MS + 1), runner.id).toBeDefined();
    await store.runners.retire({ runner: "next" });
  }
});

it("judges heartbeats and leases by the store's clock, whatever the clocks of the machines say", async () => {
  const { file } = await openHome();
  const opened = openWriter({ file });
  onTestFinished(() => opened.close());
  let server = START;
  const db = { ...opened, now: () => server };
  const [fast, slow] = [START + 2 * DAY, START - 2 * DAY];
  const runner = { id: "fast", host: "elsewhere", boot: "b", pid: 1, started: "1" };
  recordHeartbeat(db, { runner, now: fast });
  const lease = { name: "expiry", ttlMs: RUNNER_DEAD_MS - 1000 };
  expect(acquireLease(db, { ...lease, runner: "fast", now: fast })).toBe(1);
  expect(acquireLease(db, { ...lease, runner: "slow", now: slow })).toBeUndefined();
  expect(listLeases(db, { now: slow })).toMatchObject([{ name: "expiry", until: START + lease.ttlMs }]);
  server += lease.ttlMs;
  expect(listLeases(db, { now: slow }), "it has expired, although its holder lives").toEqual([]);
  acquireLease(db, { ...lease, runner: "fast", now: fast });
  server = START + RUNNER_DEAD_MS;
  expect(acquireLease(db, { ...lease, runner: "slow", now: slow })).toBeUndefined();
  server += 1;
  expect(acquireLease(db, { ...lease, runner: "slow", now: slow }), "its holder was silent").toBe(2);
});
