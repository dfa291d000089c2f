import { expect, it, onTestFinished, vi } from "vitest";
import { openHome } from "../../test/support/test-home.ts";
import { HEARTBEAT_MS, RUNNER_DEAD_MS } from "../core/runner.ts";
import type { RunnerStore } from "../ports/runner-store.ts";
import { localRunner } from "./local-runner.ts";
import { runnerLife } from "./runner-life.ts";

async function startLife(change: Partial<RunnerStore> = {}) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { store, clock } = await openHome();
  const errors: unknown[] = [];
  const runners: RunnerStore = {
    ...store.runners,
    recordHeartbeat: (input) => store.runners.recordHeartbeat(input),
    retire: (input) => store.runners.retire(input),
    acquireLease: (input) => store.runners.acquireLease(input),
    releaseLease: (input) => store.runners.releaseLease(input),
    listLeases: (input) => store.runners.listLeases(input),
    ...change,
  };
  const runner = localRunner();
  const life = await runnerLife({
    store: { runners },
    clock,
    runner,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => life.stop());
  const listLeases = () => store.runners.listLeases({ now: clock.now() });
  const beat = (): void => {
    clock.pass(HEARTBEAT_MS);
    clock.time += HEARTBEAT_MS;
    vi.advanceTimersByTime(HEARTBEAT_MS);
  };
  return { store, clock, life, runner, errors, listLeases, beat };
}

it("renews a lease with every heartbeat, and publishes its current description", async () => {
  const { life, clock, listLeases, beat } = await startLife();
  let about = "first";
  await life.acquireLease({ name: "a", about: () => about });
  about = "second";
  beat();
  await vi.waitUntil(async () => (await listLeases())[0]?.about === "second");
  expect(await listLeases()).toMatchObject([{ name: "a", until: clock.now() + RUNNER_DEAD_MS }]);
});

it("returns no lease while another live runner holds it", async () => {
  const { life, store, clock } = await startLife();
  const other = localRunner();
  await store.runners.recordHeartbeat({ runner: other, now: clock.now() });
  await store.runners.acquireLease({ name: "a", runner: other.id, ttlMs: 1000, now: clock.now() });
  expect(await life.acquireLease({ name: "a" })).toBeUndefined();
});

it("calls onLost when a heartbeat finds the lease with another runner", async () => {
  const { life, store, clock, runner, beat } = await startLife();
  const onLost = vi.fn();
  const lease = await life.acquireLease({ name: "a", onLost });
  expect(lease?.hasLeft(0)).toBe(true);
  const other = localRunner();
  await store.runners.recordHeartbeat({ runner: other, now: clock.now() });
  await store.runners.releaseLease({ name: "a", runner: runner.id });
  await store.runners.acquireLease({ name: "a", runner: other.id, ttlMs: 3600_000, now: clock.now() });
  beat();
  await vi.waitUntil(() => onLost.mock.calls.length > 0);
  expect(lease?.hasLeft(0)).toBe(false);
});

it("calls onLost when another runner held the lease meanwhile, although it is free again", async () => {
  const { life, store, clock, runner, beat } = await startLife();
  const onLost = vi.fn();
  const lease = await life.acquireLease({ name: "a", onLost });
  const other = localRunner();
  await store.runners.recordHeartbeat({ runner: other, now: clock.now() });
  await store.runners.releaseLease({ name: "a", runner: runner.id });
  await store.runners.acquireLease({ name: "a", runner: other.id, ttlMs: 3600_000, now: clock.now() });
  await store.runners.retire({ runner: other.id });
  beat();
  await vi.waitUntil(() => onLost.mock.calls.length > 0);
  expect(lease?.hasLeft(0)).toBe(false);
  expect(await lease?.renew()).toBe(false);
});

it("does not renew a released lease", async () => {
  const { life, listLeases, beat, errors } = await startLife();
  const lease = await life.acquireLease({ name: "a" });
  await life.acquireLease({ name: "b" });
  await lease?.release();
  beat();
  expect((await listLeases()).map(({ name }) => name)).toEqual(["b"]);
  expect(errors).toEqual([]);
});

it("reports a failed heartbeat and tries again with the next one", async () => {
  const recordHeartbeat = vi.fn(async () => {
    if (recordHeartbeat.mock.calls.length > 1) throw new Error("the disk is full");
  });
  const { errors, beat } = await startLife({ recordHeartbeat });
  beat();
  await vi.waitUntil(() => errors.length === 1);
  await new Promise(setImmediate);
  beat();
  await vi.waitUntil(() => errors.length === 2);
});

it("frees its leases when it retires, and a heartbeat in progress does not take them again", async () => {
  const { life, listLeases, beat } = await startLife();
  await life.acquireLease({ name: "a" });
  beat();
  await life.retire();
  expect(await listLeases()).toEqual([]);
  beat();
  await new Promise(setImmediate);
  expect(await listLeases()).toEqual([]);
});
