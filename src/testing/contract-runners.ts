import assert from "node:assert/strict";
import {
  ANN,
  assertRefused,
  BOB,
  createRemoteRunner,
  DAY,
  HOUR,
  MINUTE,
  requireValue,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";
import { requirePart } from "./skip-rule.ts";

const NO_PROCESSES = "the store cannot see processes";

const ONE = { runner: "r1", take: "one" } as const;

/** Work survives a crash of its runner, and a lease has one holder. */
export function defineRunnerRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a request to a runner", () => {
    rule("names its running turn that is to be stopped, until the turn has ended", async (scene) => {
      const { store } = scene;
      const turn = await scene.begin(ANN, "hello");
      assert.equal(await store.turns.isSessionAnswering({ session: turn.session }), true);
      assert.deepEqual(await store.runners.getRequests({ runner: "r1" }), { stopTurns: [], drain: false });
      const stop = { conversation: turn.conversation, now: T0 };
      assert.equal(await store.turns.requestStop(stop), true);
      assert.deepEqual(await store.runners.getRequests({ runner: "r1" }), {
        stopTurns: [turn.number],
        drain: false,
      });
      assert.deepEqual(await store.runners.getRequests({ runner: "r2" }), { stopTurns: [], drain: false });
      await scene.finish(turn, "bye");
      assert.deepEqual(await store.runners.getRequests({ runner: "r1" }), { stopTurns: [], drain: false });
      assert.equal(await store.turns.requestStop(stop), false);
      assert.equal(await store.turns.isSessionAnswering({ session: turn.session }), false);
    });

    rule("to stop a turn passes to the runner that takes the turn over", async (scene) => {
      const { store } = scene;
      const turn = await scene.begin(ANN, "hello");
      await store.turns.requestStop({ conversation: turn.conversation, now: T0 });
      await store.runners.retire({ runner: "r1" });
      await scene.claim(turn.session, "r2");
      assert.deepEqual((await store.runners.getRequests({ runner: "r2" })).stopTurns, [turn.number]);
    });

    rule("stops only a turn of that conversation, and no other session", async (scene) => {
      const { store } = scene;
      const [mine, other] = [await scene.begin(ANN, "hello"), await scene.begin(BOB, "hi")];
      await store.turns.requestStop({ conversation: other.conversation, now: T0 });
      assert.deepEqual((await store.runners.getRequests({ runner: "r1" })).stopTurns, [other.number]);
      assert.equal(await store.turns.requestStop({ conversation: 4711, now: T0 }), false);
      assert.notEqual(mine.conversation, other.conversation);
    });

    rule("to drain is kept over heartbeats, and goes with the runner", async (scene) => {
      const { store } = scene;
      await scene.beat("r1");
      assert.equal(await store.runners.requestDrain({ runner: "r1", now: T0 }), true);
      await scene.beat("r1", T0 + MINUTE);
      assert.equal((await store.runners.getRequests({ runner: "r1" })).drain, true);
      await store.runners.retire({ runner: "r1" });
      assert.equal((await store.runners.getRequests({ runner: "r1" })).drain, false);
      assert.equal(await store.runners.requestDrain({ runner: "nobody", now: T0 }), false);
    });
  });

  describe("a runner that crashes", () => {
    rule("keeps its turn while it lives", async ({ begin, claim, store }) => {
      const turn = await begin(ANN, "hello");
      assert.equal(await claim(turn.session, "r2"), undefined);
      assert.deepEqual(await store.turns.listClaimable({ now: T0 }), []);
    });

    rule("loses its turn to another runner, with the same input and a new fence", async (scene) => {
      const { begin, claim, take } = scene;
      const turn = await begin(ANN, "hello");
      await take(ANN, "more");
      await scene.store.runners.retire({ runner: "r1" });
      await scene.reopen();
      assert.deepEqual(await scene.store.turns.listClaimable({ now: T0 }), [
        { session: turn.session, platform: "telegram" },
      ]);
      const again = requireValue(await claim(turn.session, "r2"));
      assert.deepEqual(again, { ...turn, attempt: 2, fence: again.fence });
      assert.ok(again.fence > turn.fence);
      await scene.store.runners.retire({ runner: "r2" });
      const third = requireValue(await claim(turn.session, "r3"));
      assert.equal(third.attempt, 3);
      const next = requireValue((await scene.finish(third, "answer", { next: ONE })).next);
      assert.deepEqual([next.attempt, next.inputs], [1, [3]]);
      assert.deepEqual(await scene.shows(turn.session), ["hello", "answer", "more"]);
    });

    rule(
      "counts as dead on another machine after half a minute without a heartbeat",
      async ({ begin, claim, beat, store }) => {
        const turn = await begin(ANN, "hello");
        assert.equal(await claim(turn.session, "r2", T0 + 30_000), undefined);
        assert.deepEqual(await store.turns.listClaimable({ now: T0 + 30_000 }), []);
        await beat("r1", T0 + 20_000);
        assert.equal(await claim(turn.session, "r2", T0 + 50_000), undefined);
        assert.deepEqual(await store.turns.listClaimable({ now: T0 + 50_001 }), [
          { session: turn.session, platform: "telegram" },
        ]);
        assert.equal(requireValue(await claim(turn.session, "r2", T0 + 50_001)).attempt, 2);
      },
    );

    rule(
      "counts as dead at once if its process on this machine has ended",
      async ({ store, take, claim, deadRunner }) => {
        const gone = requirePart(deadRunner, NO_PROCESSES);
        await store.runners.recordHeartbeat({ runner: gone, now: T0 });
        const { turn } = await take(ANN, "hello", { claim: { runner: gone.id, take: "one" } });
        assert.equal(requireValue(await claim(requireValue(turn).session, "r2")).attempt, 2);
      },
    );

    rule(
      "loses its work after half a minute without a heartbeat although its process exists, and its late writes are refused",
      async ({ store, take, claim, beat, silentRunner }) => {
        const silent = silentRunner ?? createRemoteRunner("r1");
        await store.runners.recordHeartbeat({ runner: silent, now: T0 });
        const { turn } = await take(ANN, "hello", { claim: { runner: silent.id, take: "one" } });
        const { session, number, fence } = requireValue(turn);
        assert.equal(await claim(session, "r2", T0 + 30_000), undefined);
        assert.deepEqual(await store.turns.listClaimable({ now: T0 + 30_000 }), []);
        assert.deepEqual(await store.turns.listClaimable({ now: T0 + 30_001 }), [
          { session, platform: "telegram" },
        ]);
        assert.equal(requireValue(await claim(session, "r2", T0 + 30_001)).attempt, 2);
        await store.runners.recordHeartbeat({ runner: silent, now: T0 + MINUTE });
        await beat("r2", T0 + MINUTE);
        const late = { turn: number, fence, outcome: "done", messages: [], now: T0 + MINUTE } as const;
        assertRefused(await store.turns.finish(late), "stale_fence");
        assert.equal(
          await claim(session, silent.id, T0 + MINUTE),
          undefined,
          "it does not get its work back",
        );
      },
    );

    rule(
      "does not lose its work to a runner that was itself silent, as after the machine was suspended",
      async ({ store, take, claim, silentRunner, ownRunner }) => {
        const silent = requirePart(silentRunner, NO_PROCESSES);
        const own = requirePart(ownRunner, NO_PROCESSES);
        for (const one of [silent, own]) await store.runners.recordHeartbeat({ runner: one, now: T0 });
        const { turn } = await take(ANN, "hello", { claim: { runner: silent.id, take: "one" } });
        const { session } = requireValue(turn);
        const woken = T0 + HOUR;
        assert.equal(await claim(session, own.id, woken), undefined, "before its own heartbeat");
        await store.runners.recordHeartbeat({ runner: own, now: woken });
        assert.equal(await claim(session, own.id, woken + 9000), undefined);
        assert.deepEqual(await store.turns.listClaimable({ now: woken + 9000 }), []);
        await store.runners.recordHeartbeat({ runner: silent, now: woken + 9500 });
        assert.equal(await claim(session, own.id, woken + 20_000), undefined, "the other one is awake too");
        await store.runners.recordHeartbeat({ runner: own, now: woken + 10_000 });
        await store.runners.recordHeartbeat({ runner: own, now: woken + 30_000 });
        assert.equal(requireValue(await claim(session, own.id, woken + 40_000)).attempt, 2);
      },
    );

    rule("leaves later messages behind the crashed turn", async ({ begin, take, claim, store, shows }) => {
      const turn = await begin(ANN, "one");
      await store.runners.retire({ runner: "r1" });
      assert.equal((await take(ANN, "two", { claim: { runner: "r2", take: "one" } })).turn, undefined);
      assert.equal(requireValue(await claim(turn.session, "r2")).attempt, 2);
      assert.deepEqual(await shows(turn.session), ["one"]);
    });
  });

  describe("a lease", () => {
    rule("has one holder, with a fence that rises with each new holder", async (scene) => {
      const lease = (runner: string, now: number) =>
        scene.store.runners.acquireLease({ name: "telegram", runner, ttlMs: MINUTE, now });
      for (const id of ["r1", "r2"]) await scene.beat(id);
      const first = requireValue(await lease("r1", T0));
      assert.equal(await lease("r2", T0 + 1), undefined);
      assert.equal(await lease("r1", T0 + 2), first, "renewing keeps the number");
      assert.equal(await scene.store.runners.releaseLease({ name: "telegram", runner: "r2" }), false);
      assert.equal(await scene.store.runners.releaseLease({ name: "telegram", runner: "r1" }), true);
      const second = requireValue(await lease("r2", T0 + 3));
      assert.ok(second > first);
      await scene.reopen();
      assert.equal(await lease("r1", T0 + 4), undefined);
      const other = { name: "discord", runner: "r1", ttlMs: MINUTE, now: T0 };
      assert.notEqual(
        await scene.store.runners.acquireLease(other),
        undefined,
        "another name is another lease",
      );
    });

    rule("is free after its expiry", async ({ store, beat }) => {
      const lease = (runner: string, now: number) =>
        store.runners.acquireLease({ name: "expiry", runner, ttlMs: 20_000, now });
      for (const id of ["r1", "r2"]) await beat(id);
      const first = requireValue(await lease("r1", T0));
      assert.equal(await lease("r1", T0 + 10_000), first);
      assert.equal(await lease("r2", T0 + 29_999), undefined);
      await beat("r2", T0 + 30_000);
      assert.ok(requireValue(await lease("r2", T0 + 30_000)) > first);
      assert.equal(await lease("r1", T0 + 30_001), undefined);
    });

    rule("is free after its holder has retired", async ({ store, beat }) => {
      const lease = (runner: string, now: number) =>
        store.runners.acquireLease({ name: "schedule", runner, ttlMs: DAY, now });
      for (const id of ["r1", "r2", "r3"]) await beat(id);
      const first = requireValue(await lease("r1", T0));
      await store.runners.retire({ runner: "r1" });
      const second = requireValue(await lease("r2", T0 + 1));
      assert.ok(second > first);
      await beat("r3", T0 + 40_000);
      const third = requireValue(await lease("r3", T0 + 40_000));
      assert.ok(third > second, "r2 was silent for too long");
    });

    rule("is free at once when the process of its holder has ended", async ({ store, beat, deadRunner }) => {
      const gone = requirePart(deadRunner, NO_PROCESSES);
      const lease = (runner: string) =>
        store.runners.acquireLease({ name: "schedule", runner, ttlMs: DAY, now: T0 });
      await store.runners.recordHeartbeat({ runner: gone, now: T0 });
      await beat("r1");
      const dead = requireValue(await lease(gone.id));
      assert.ok(requireValue(await lease("r1")) > dead);
    });

    rule("is listed while its holder lives, with the holder's description", async (scene) => {
      const { store, beat } = scene;
      for (const id of ["r1", "r2"]) await beat(id);
      const lease = (name: string, holder: string, about?: string) =>
        store.runners.acquireLease({
          name,
          runner: holder,
          ttlMs: HOUR,
          now: T0,
          ...(about !== undefined && { about }),
        });
      await lease("telegram", "r1", "@rider_bot");
      await lease("expiry", "r2");
      const held = {
        name: "telegram",
        runner: createRemoteRunner("r1"),
        until: T0 + HOUR,
        about: "@rider_bot",
      };
      const other = { name: "expiry", runner: createRemoteRunner("r2"), until: T0 + HOUR };
      assert.deepEqual(await store.runners.listLeases({ now: T0 }), [other, held]);
      await lease("telegram", "r1");
      assert.deepEqual(
        await store.runners.listLeases({ now: T0 }),
        [other, held],
        "renewing says nothing new",
      );
      await store.runners.releaseLease({ name: "telegram", runner: "r1" });
      await lease("telegram", "r2");
      assert.deepEqual(await store.runners.listLeases({ now: T0 }), [other, { ...other, name: "telegram" }]);
      assert.deepEqual(
        await store.runners.listLeases({ now: T0 + MINUTE }),
        [],
        "r2 was silent for too long",
      );
      await beat("r2", T0 + HOUR);
      assert.deepEqual(await store.runners.listLeases({ now: T0 + HOUR }), [], "it has expired");
    });

    rule("is not listed when the process of its holder has ended", async ({ store, deadRunner }) => {
      const gone = requirePart(deadRunner, NO_PROCESSES);
      await store.runners.recordHeartbeat({ runner: gone, now: T0 });
      await store.runners.acquireLease({ name: "left", runner: gone.id, ttlMs: HOUR, now: T0 });
      assert.deepEqual(await store.runners.listLeases({ now: T0 }), []);
    });

    rule("is listed on request when its holder is silent but its process exists", async (scene) => {
      const { store, silentRunner } = scene;
      const holder = silentRunner ?? createRemoteRunner("r1");
      await store.runners.recordHeartbeat({ runner: holder, now: T0 });
      await store.runners.acquireLease({ name: "gateway", runner: holder.id, ttlMs: 30_000, now: T0 });
      const now = T0 + MINUTE;
      assert.deepEqual(await store.runners.listLeases({ now }), []);
      const held = { name: "gateway", runner: holder, until: T0 + 30_000, silentSince: T0 };
      assert.deepEqual(
        await store.runners.listLeases({ now, silent: true }),
        silentRunner === undefined ? [] : [held],
      );
      await store.runners.recordHeartbeat({ runner: holder, now });
      const renewed = { name: "gateway", runner: holder.id, ttlMs: 30_000, now };
      await store.runners.acquireLease(renewed);
      const { silentSince: _, ...fresh } = { ...held, until: now + 30_000 };
      assert.deepEqual(await store.runners.listLeases({ now, silent: true }), [fresh]);
    });

    rule("goes to one of several concurrent runners", async ({ store, beat }) => {
      const runners = ["r1", "r2", "r3", "r4"];
      for (const id of runners) await beat(id);
      const numbers = await Promise.all(
        runners.map((runner) => store.runners.acquireLease({ name: "x", runner, ttlMs: MINUTE, now: T0 })),
      );
      assert.equal(numbers.filter((number) => number !== undefined).length, 1);
    });
  });
}
