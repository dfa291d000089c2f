import { expect, it, vi } from "vitest";
import { openHome } from "../../test/support/test-home.ts";
import { PostriderError } from "../core/errors.ts";
import { localRunner } from "../system/local-runner.ts";
import { standByAgain } from "./stand-by-again.ts";

const away = (): PostriderError => new PostriderError("store_unavailable", "The database does not answer.");

async function open() {
  const { store, clock } = await openHome();
  const former = localRunner();
  await store.runners.recordHeartbeat({ runner: former, now: clock.now() });
  await store.runners.acquireLease({ name: "a", runner: former.id, ttlMs: 60_000, now: clock.now() });
  const ending = new AbortController();
  const options = { store, log: { warn: () => {} }, formerRunner: former.id, signal: ending.signal };
  return { store, clock, ending, options };
}

it("retires the former runner before it starts the next one, and waits for the database", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { store, clock, options } = await open();
  const start = vi.fn(async () => "started");
  start.mockRejectedValueOnce(away());
  const retire = vi.fn((input: { readonly runner: string }) => store.runners.retire(input));
  retire.mockRejectedValueOnce(away());
  const again = standByAgain({ ...options, store: { runners: { ...store.runners, retire } }, start });
  await vi.waitFor(async () => {
    await vi.advanceTimersByTimeAsync(2000);
    expect(start).toHaveBeenCalledTimes(2);
  });
  vi.useRealTimers();
  expect(await again).toBe("started");
  expect(retire).toHaveBeenCalledTimes(3);
  expect(await store.runners.listLeases({ now: clock.now() })).toEqual([]);
});

it("fails with any other error, and when the process is asked to end", async () => {
  const { options, ending } = await open();
  const fail = (error: Error) => standByAgain({ ...options, start: () => Promise.reject(error) });
  await expect(fail(new Error("a mistake"))).rejects.toThrow("a mistake");
  ending.abort();
  await expect(fail(away())).rejects.toMatchObject({ code: "store_unavailable" });
});
