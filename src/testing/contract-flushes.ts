import assert from "node:assert/strict";
import { type Flush, getMemoryOwner, type MemoryChange } from "../core/memory.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  assertRefused,
  createRemoteRunner,
  DAY,
  EVERYONE,
  GROUP,
  inGroup,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const FOUR = ["one", "two", "three", "four"];
/** Long after the last heartbeat of a remote runner. */
const LATER = T0 + DAY;

/** Each message reaches the memory once, also after a crash. */
export function defineFlushRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a memory flush", () => {
    rule("is requested once for the same messages", async (scene) => {
      const { create, say, store } = scene;
      const { id: session } = await create("p_ann", FOUR);
      const asked = await Promise.all([1, 2, 3].map(() => store.memory.requestFlush({ session, now: T0 })));
      assert.equal(asked.filter(Boolean).length, 1);
      await scene.reopen();
      assert.equal(await scene.store.memory.requestFlush({ session, now: T0 }), false);
      await say(session, { role: "user", parts: [] });
      assert.equal(await scene.store.memory.requestFlush({ session, now: T0 }), true);
      assert.deepEqual(
        [await claimFlush(scene), await claimFlush(scene), await claimFlush(scene)].map(
          (flush) => flush?.upTo,
        ),
        [4, 5, undefined],
      );
    });

    rule("is refused for a few messages, and for sessions of jobs and webhooks", async (scene) => {
      const { create, say, store } = scene;
      const few = await create("p_ann", FOUR.slice(1));
      assert.equal(await store.memory.requestFlush({ session: few.id, now: T0 }), false);
      for (const kind of ["job", "webhook"] as const) {
        const { id: session } = await create("p_ann", [...FOUR, ...FOUR], { kind });
        assert.equal(await store.memory.requestFlush({ session, now: T0 }), false);
      }
      assert.equal(await store.memory.requestFlush({ session: "nowhere", now: T0 }), false);
      assert.equal(await claimFlush(scene), undefined);
      await say(few.id, { role: "assistant", parts: [] });
      assert.equal(await store.memory.requestFlush({ session: few.id, now: T0 }), true);
    });

    rule("is claimed by one runner, the oldest first, with the owner of its memory", async (scene) => {
      const first = await createFlush(scene, "p_ann");
      const second = await createFlush(scene, "p_bob");
      const runners = ["r1", "r2", "r3"];
      for (const id of runners) await scene.beat(id);
      const claimed = await Promise.all(
        runners.map((runner) => scene.store.memory.claimFlush({ runner, now: T0 })),
      );
      assert.deepEqual(
        claimed.map(
          (flush) => flush && [flush.session, flush.owner, flush.profile, flush.upTo, flush.attempt],
        ),
        [[first, "p_ann", "main", 4, 1], [second, "p_bob", "main", 4, 1], undefined],
      );
    });

    rule("is claimed only for the given owner", async (scene) => {
      await createFlush(scene, "p_bob");
      const own = await createFlush(scene, "p_ann");
      assert.equal(await claimFlush(scene, "r1", { owner: "p_carl" }), undefined);
      assert.equal((await claimFlush(scene, "r1", { owner: "p_ann" }))?.session, own);
      assert.equal(await claimFlush(scene, "r1", { owner: "p_ann" }), undefined);
    });

    rule("of a chat with other readers changes the memory of that chat", async (scene) => {
      for (const words of FOUR) await scene.talk(inGroup("ann"), words, "so");
      const { session } = await scene.open(inGroup("ann"));
      assert.ok(session.owner.startsWith("p_"));
      assert.equal(await scene.store.memory.requestFlush({ session: session.id, now: T0 }), true);
      const audience = GROUP;
      assert.equal((await claimFlush(scene))?.owner, getMemoryOwner({ owner: session.owner, audience }));
    });

    rule("changes the memory when it is finished, in one commit and once", async (scene) => {
      await createFlush(scene, "p_ann");
      const flush = requireValue(await claimFlush(scene));
      const changes = ["likes tea", "has a dog"].map((text): MemoryChange => ({ action: "add", text }));
      const memory = throwIfRefused(await finishFlush(scene, flush, changes));
      assert.deepEqual(memory, { owner: "p_ann", version: 1, entries: ["likes tea", "has a dog"], at: T0 });
      const more: MemoryChange[] = [{ action: "add", text: "twice" }];
      assertRefused(await finishFlush(scene, flush, more), "stale_fence");
      assertRefused(await finishFlush(scene, { number: 4711 }, more), "stale_fence");
      assert.deepEqual(await scene.store.memory.getMemory({ owner: "p_ann" }), memory);
      assert.equal(await claimFlush(scene, "r2", { now: LATER }), undefined);
    });

    rule("keeps newer memory, and applies the changes that still fit", async (scene) => {
      const { store } = scene;
      throwIfRefused(
        await store.memory.changeMemory({
          owner: "p_ann",
          change: { action: "add", text: "lives in Rome" },
          now: T0,
        }),
      );
      await createFlush(scene, "p_ann");
      const flush = requireValue(await claimFlush(scene));
      const newer = { action: "replace", old: "Rome", text: "lives in Oslo" } as const;
      throwIfRefused(await store.memory.changeMemory({ owner: "p_ann", change: newer, now: T0 }));
      const memory = throwIfRefused(
        await finishFlush(scene, flush, [
          { action: "replace", old: "lives in Rome", text: "lives in Paris" },
          { action: "add", text: "has a dog" },
          { action: "remove", old: "a cat" },
        ]),
      );
      assert.deepEqual(memory.entries, ["lives in Oslo", "has a dog"]);
    });

    rule("is retried when its runner has ended, and never started a third time", async (scene) => {
      const session = await createFlush(scene, "p_ann");
      const first = requireValue(await claimFlush(scene, "r1"));
      assert.equal(await claimFlush(scene, "r2", { now: T0 + 1 }), undefined);
      await scene.reopen();
      const second = requireValue(await claimFlush(scene, "r2", { now: LATER }));
      assert.deepEqual([second.number, second.session, second.attempt], [first.number, session, 2]);
      const late: MemoryChange[] = [{ action: "add", text: "too late" }];
      assertRefused(await finishFlush(scene, first, late, "r1"), "stale_fence");
      assert.equal(await claimFlush(scene, "r3", { now: LATER + DAY }), undefined);
      // It is done, also for the runner that counted as dead.
      assertRefused(await finishFlush(scene, second, late, "r2"), "stale_fence");
      assert.deepEqual((await scene.store.memory.getMemory({ owner: "p_ann" })).entries, []);
    });

    rule("is not blocked by a flush of another runner", async (scene) => {
      await createFlush(scene, "p_ann");
      const next = await createFlush(scene, "p_bob");
      requireValue(await claimFlush(scene, "r1"));
      assert.equal((await claimFlush(scene, "r2"))?.session, next);
    });

    rule("is deleted with its session", async (scene) => {
      const { store } = scene;
      const gone = await createFlush(scene, "p_ann");
      const begun = await createFlush(scene, "p_bob");
      assert.equal(await store.sessions.remove({ asker: EVERYONE, session: gone, now: T0 }), true);
      const flush = requireValue(await claimFlush(scene));
      assert.equal(flush.session, begun);
      await scene.fork(begun);
      assert.equal(await store.sessions.remove({ asker: EVERYONE, session: begun, now: T0 }), true);
      await finishFlush(scene, flush, [{ action: "add", text: "of what is gone" }]);
      assert.deepEqual((await store.memory.getMemory({ owner: "p_bob" })).entries, []);
      assert.equal(await claimFlush(scene, "r2", { now: LATER }), undefined);
    });

    rule("is purged some time after it is done, not while it is pending", async (scene) => {
      const { store } = scene;
      await createFlush(scene, "p_ann");
      const done = requireValue(await claimFlush(scene));
      throwIfRefused(await finishFlush(scene, done, []));
      const waits = await createFlush(scene, "p_bob");
      assert.deepEqual(await store.upkeep.purgeFinished({ before: LATER, limit: 100, now: LATER }), {
        more: false,
      });
      assert.equal((await claimFlush(scene, "r2", { now: LATER }))?.session, waits);
    });
  });
}

async function createFlush({ create, store }: Scene, owner: string): Promise<string> {
  const { id: session } = await create(owner, FOUR);
  assert.equal(await store.memory.requestFlush({ session, now: T0 }), true);
  return session;
}

async function claimFlush(
  { store }: Scene,
  id = "r1",
  { now = T0, owner }: { now?: number; owner?: string } = {},
): Promise<Flush | undefined> {
  await store.runners.recordHeartbeat({ runner: createRemoteRunner(id), now });
  return store.memory.claimFlush({ runner: id, now, ...(owner !== undefined && { owner }) });
}

function finishFlush(
  { store }: Scene,
  { number }: Pick<Flush, "number">,
  changes: readonly MemoryChange[],
  by = "r1",
) {
  return store.memory.finishFlush({ flush: number, runner: by, changes, now: T0 });
}
