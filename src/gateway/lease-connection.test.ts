import { expect, it, onTestFinished, vi } from "vitest";
import { HOUR, openHome } from "../../test/support/test-home.ts";
import { platformTraits } from "../core/platforms.ts";
import type { Platform } from "../ports/platform.ts";
import { localRunner } from "../system/local-runner.ts";
import { runnerLife } from "../system/runner-life.ts";
import { leaseConnection } from "./connect.ts";

const platform: Platform = {
  name: "telegram",
  account: "1",
  traits: platformTraits("telegram"),
  run: () => new Promise(() => {}),
  send: async () => ({ state: "sent", messageId: "1" }),
};

async function openConnection() {
  const { store, clock } = await openHome();
  const runner = localRunner();
  const onError = (error: unknown): never => {
    throw error;
  };
  const life = await runnerLife({ store, clock, runner, onError });
  onTestFinished(() => life.stop());
  const held = await leaseConnection(life, platform, () => {});
  if (held === undefined) throw new Error("another runner holds the connection");
  return { held, clock, store, runner: runner.id };
}

it("nothing is sent when the lease expires soon by either clock, and the lease is renewed at once", async () => {
  const { held, clock } = await openConnection();
  expect(held.canSend()).toBe(true);
  clock.time += HOUR;
  expect(held.canSend()).toBe(false);
  await vi.waitUntil(() => held.canSend(), 5000);
  clock.pass(20_000);
  expect(held.canSend()).toBe(false);
  await vi.waitUntil(() => held.canSend(), 5000);
});

it("a clock that is set back does not extend the lease", async () => {
  const { held, clock } = await openConnection();
  clock.time -= HOUR;
  expect(held.canSend()).toBe(true);
  clock.pass(20_000);
  expect(held.canSend()).toBe(false);
});

it("nothing is sent once another process holds the connection", async () => {
  const { held, clock, store, runner } = await openConnection();
  const other = localRunner();
  await store.runners.releaseLease({ name: held.name, runner });
  await store.runners.recordHeartbeat({ runner: other, now: clock.now() });
  await store.runners.acquireLease({ name: held.name, runner: other.id, ttlMs: HOUR, now: clock.now() });
  expect(await held.renew()).toBe(false);
  expect(held.canSend()).toBe(false);
});
