import { afterEach, expect, it, vi } from "vitest";
import { DAY, openHome, START } from "../../../test/support/test-home.ts";
import { RUNNER_DEAD_MS } from "../../core/runner.ts";

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
