import assert from "node:assert/strict";
import { getMemoryOwner, type MemoryChange } from "../core/memory.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  BOB,
  GROUP,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

/** Memory and its versions. */
export function defineMemoryRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a memory", () => {
    rule("is empty at first, and gets a new version with every change", async (scene) => {
      const { store } = scene;
      assert.deepEqual(await store.memory.getMemory({ owner: "p_ann" }), {
        owner: "p_ann",
        version: 0,
        entries: [],
      });
      assert.deepEqual(await store.memory.listMemoryVersions({ owner: "p_ann" }), []);
      const first = await addMemory(scene, "p_ann", "likes tea");
      assert.deepEqual(first, { owner: "p_ann", version: 1, entries: ["likes tea"], at: T0 });
      const old = { action: "replace", old: "tea", text: "likes coffee" } as const;
      const second = throwIfRefused(await changeMemory(scene, "p_ann", old, T0 + 1));
      assert.deepEqual(second, { owner: "p_ann", version: 2, entries: ["likes coffee"], at: T0 + 1 });
      const third = throwIfRefused(
        await changeMemory(scene, "p_ann", { action: "remove", old: "coffee" }, T0 + 2),
      );
      assert.deepEqual(third.entries, []);
      await scene.reopen();
      assert.deepEqual(await scene.store.memory.getMemory({ owner: "p_ann" }), third);
      assert.deepEqual(await scene.store.memory.listMemoryVersions({ owner: "p_ann" }), [
        third,
        second,
        first,
      ]);
      assert.deepEqual(await scene.store.memory.listMemoryVersions({ owner: "p_ann", limit: 1 }), [third]);
    });

    rule("is separate for each owner", async (scene) => {
      for (const owner of ["p_ann", "p_bob", "chat:telegram:-100", "profile:main"])
        await addMemory(scene, owner, `of ${owner}`);
      for (const owner of ["p_ann", "p_bob", "chat:telegram:-100", "profile:main"])
        assert.deepEqual((await scene.store.memory.getMemory({ owner })).entries, [`of ${owner}`]);
    });

    rule("is not changed by a refused change, nor by an existing entry", async (scene) => {
      const before = await addMemory(scene, "p_ann", "likes tea");
      assertRefused(await changeMemory(scene, "p_ann", { action: "remove", old: "coffee" }), "not_found");
      assertRefused(await changeMemory(scene, "p_ann", { action: "add", text: " " }), "invalid_input");
      assertRefused(
        await changeMemory(scene, "p_ann", { action: "add", text: "x".repeat(4000) }),
        "too_large",
      );
      assert.deepEqual(await addMemory(scene, "p_ann", "likes tea"), before);
      assert.deepEqual(await scene.store.memory.listMemoryVersions({ owner: "p_ann" }), [before]);
    });

    rule("loses nothing with concurrent changes", async (scene) => {
      const names = Array.from({ length: 20 }, (_, n) => `entry ${n}.`);
      await Promise.all(names.map((name) => addMemory(scene, "p_ann", name)));
      const { version, entries } = await scene.store.memory.getMemory({ owner: "p_ann" });
      assert.deepEqual([version, entries.toSorted()], [20, names.toSorted()]);
    });

    rule("can be restored to one of the newest fifty versions", async (scene) => {
      const { store } = scene;
      for (let n = 1; n <= 60; n += 1) {
        if (n > 1) throwIfRefused(await changeMemory(scene, "p_ann", { action: "remove", old: `${n - 1}` }));
        else await addMemory(scene, "p_ann", "0");
        if (n > 1) await addMemory(scene, "p_ann", `${n}`);
        else throwIfRefused(await changeMemory(scene, "p_ann", { action: "replace", old: "0", text: "1" }));
      }
      const { version } = await store.memory.getMemory({ owner: "p_ann" });
      const kept = await store.memory.listMemoryVersions({ owner: "p_ann", limit: 100 });
      assert.equal(kept.length, 50);
      assert.deepEqual([kept[0]?.version, kept.at(-1)?.version], [version, version - 49]);
      const oldest = requireValue(kept.at(-1));
      const restored = throwIfRefused(
        await store.memory.restoreMemory({ owner: "p_ann", version: oldest.version, now: T0 + 5 }),
      );
      assert.deepEqual(restored, { ...oldest, version: version + 1, at: T0 + 5 });
      assert.deepEqual(await store.memory.getMemory({ owner: "p_ann" }), restored);
      for (const gone of [oldest.version, 0, version + 2])
        assertRefused(
          await store.memory.restoreMemory({ owner: "p_ann", version: gone, now: T0 }),
          "not_found",
        );
      assertRefused(await store.memory.restoreMemory({ owner: "p_bob", version, now: T0 }), "not_found");
    });

    rule("is exported and erased with its person, and only theirs", async (scene) => {
      const [{ owner: ann }, { owner: bob }] = [
        await scene.talk(ANN, "hello", "hi"),
        await scene.talk(BOB, "hello", "hi"),
      ];
      await addMemory(scene, ann, "is called Ann");
      const [annThere, bobThere] = [ann, bob].map((owner) => getMemoryOwner({ owner, audience: GROUP }));
      await addMemory(scene, requireValue(annThere), "rides on Mondays");
      await addMemory(scene, requireValue(bobThere), "rides on Tuesdays");
      await addMemory(scene, bob, "is called Bob");
      const data = requireValue(await scene.store.access.readPersonData({ person: ann }));
      assert.deepEqual(data.memories, [{ text: "is called Ann" }, { text: "rides on Mondays", chat: GROUP }]);
      assert.equal(data.counts.memories, 2);
      let after: number | undefined;
      for (let done = false; !done; ) {
        const step = throwIfRefused(
          await scene.store.access.erasePerson({
            person: ann,
            limit: 100,
            now: T0,
            ...(after !== undefined && { after }),
          }),
        );
        ({ done, after } = step);
      }
      for (const owner of [ann, requireValue(annThere)])
        assert.deepEqual(await scene.store.memory.listMemoryVersions({ owner }), []);
      assert.deepEqual((await scene.store.memory.getMemory({ owner: bob })).entries, ["is called Bob"]);
      assert.deepEqual((await scene.store.memory.getMemory({ owner: requireValue(bobThere) })).entries, [
        "rides on Tuesdays",
      ]);
    });

    rule("moves with a person who has no other account, as far as it fits", async (scene) => {
      const [{ owner: ann }, { owner: bob }] = [
        await scene.talk(ANN, "hello", "hi"),
        await scene.talk(BOB, "hello", "hi"),
      ];
      await addMemory(scene, bob, `long: ${"x".repeat(3960)}`);
      for (const text of ["likes tea", `also long: ${"y".repeat(300)}`, "short"])
        await addMemory(scene, ann, text);
      const inGroup = (owner: string) => getMemoryOwner({ owner, audience: GROUP });
      await addMemory(scene, inGroup(ann), "rides on Mondays");
      throwIfRefused(
        await scene.store.access.linkAccount({
          account: { platform: "telegram", userId: "ann" },
          person: bob,
          now: T0,
        }),
      );
      assert.deepEqual((await scene.store.memory.getMemory({ owner: inGroup(bob) })).entries, [
        "rides on Mondays",
      ]);
      assert.deepEqual(await scene.store.memory.listMemoryVersions({ owner: inGroup(ann) }), []);
      const { entries } = await scene.store.memory.getMemory({ owner: bob });
      assert.deepEqual(
        entries.map((entry) => entry.slice(0, 9)),
        ["long: xxx", "likes tea", "short"],
      );
      assert.deepEqual(await scene.store.memory.listMemoryVersions({ owner: ann }), []);
    });

    rule("stays with a person who keeps another account, and with the owner", async (scene) => {
      const { owner: ann } = await scene.talk(ANN, "hello", "hi");
      throwIfRefused(
        await scene.store.access.linkAccount({
          account: { platform: "signal", userId: "ann" },
          person: ann,
          now: T0,
        }),
      );
      await addMemory(scene, ann, "likes tea");
      const account = { platform: "telegram", userId: "ann" };
      const { person } = throwIfRefused(await scene.store.access.linkAccount({ account, now: T0 }));
      assert.notEqual(person, ann);
      assert.deepEqual((await scene.store.memory.getMemory({ owner: ann })).entries, ["likes tea"]);
      assert.deepEqual((await scene.store.memory.getMemory({ owner: person })).entries, []);
    });
  });
}

function changeMemory({ store }: Scene, owner: string, given: MemoryChange, now = T0) {
  return store.memory.changeMemory({ owner, change: given, now });
}

async function addMemory(scene: Scene, owner: string, text: string) {
  return throwIfRefused(await changeMemory(scene, owner, { action: "add", text }));
}
