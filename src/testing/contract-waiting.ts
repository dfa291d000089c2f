import assert from "node:assert/strict";
import { textOf } from "../core/message.ts";
import { unrefused } from "../core/refusal.ts";
import {
  ANN,
  BOB,
  EVERYONE,
  inGroup,
  present,
  type Rule,
  T0,
  type TestApi,
  TOGETHER,
  user,
} from "./scene.ts";

const ONE = { runner: "r1", take: "one" } as const;

/** What was accepted and has not begun, and who is told when something has. */
export function waitingRules({ describe }: TestApi, rule: Rule): void {
  describe("what waits", () => {
    rule("is everything accepted whose turn has not begun, in order, as it was given", async (scene) => {
      const turn = await scene.begin(ANN, "one");
      const origin = { platform: "telegram", platformMessageId: "9" };
      await scene.take(ANN, "", { message: user("two", { origin }), claim: ONE });
      await scene.take(ANN, "three");
      await scene.reopen();
      const ask = { asker: EVERYONE, session: turn.session };
      const waiting = await scene.store.waiting(ask);
      assert.deepEqual(waiting, [user("two", { origin }), user("three")]);
      const second = present((await scene.finish(turn, "1", { next: ONE })).next);
      assert.deepEqual((await scene.store.waiting(ask)).map(textOf), ["three"]);
      const third = present((await scene.finish(second, "2", { next: ONE })).next);
      assert.deepEqual(await scene.store.waiting(ask), []);
      await scene.finish(third, "3");
      assert.deepEqual(await scene.store.waiting(ask), []);
    });

    rule("is nothing once it was cancelled", async ({ begin, take, store }) => {
      const turn = await begin(ANN, "one");
      const { conversation } = await take(ANN, "two");
      await store.cancelWaiting({ conversation: conversation.number, now: T0 });
      assert.deepEqual(await store.waiting({ asker: EVERYONE, session: turn.session }), []);
    });

    rule("waits where its conversation points, beside what other conversations sent there", async (scene) => {
      const { create, open, take, store } = scene;
      const session = await create("p_ann", ["hello"]);
      for (const thread of ["1", "2"]) {
        const source = { ...ANN, threadId: thread };
        const { conversation } = await open(source, { person: "p_ann" });
        const first = await take(source, `from ${thread}`);
        const ask = { asker: EVERYONE, session: first.session.id };
        assert.deepEqual((await store.waiting(ask)).map(textOf), [`from ${thread}`]);
        const to = { conversation: conversation.number, session: session.id };
        unrefused(await store.switchTo({ asker: { person: "p_ann" }, ...to, now: T0 }));
        assert.deepEqual(await store.waiting(ask), []);
      }
      const waiting = await store.waiting({ asker: EVERYONE, session: session.id });
      assert.deepEqual(waiting.map(textOf), ["from 1", "from 2"]);
    });

    rule("is shown to whoever may see the session, and looks like nothing to others", async (scene) => {
      const { take, store } = scene;
      const own = await take(ANN, "mine");
      const ask = (asker: typeof EVERYONE, session = own.session.id) => store.waiting({ asker, session });
      const ann = { person: own.session.owner };
      const { session: bobs } = await take(BOB, "his");
      assert.equal((await ask(ann)).length, 1);
      assert.deepEqual(await ask({ person: bobs.owner }), []);
      assert.deepEqual(await ask({ ...ann, chat: "chat:telegram:-100" }), []);
      assert.deepEqual(await ask(ann, bobs.id), []);
      assert.deepEqual(await ask(ann, "none"), []);
      const group = await take(inGroup("ann"), "ours", { scope: TOGETHER });
      const there = { ...ann, chat: group.session.owner };
      assert.equal((await ask(there, group.session.id)).length, 1);
    });

    rule("is only looked at: nothing begins, nobody is told", async ({ take, store, claim, quiet }) => {
      const { session } = await take(ANN, "hello");
      await quiet();
      let told = 0;
      const stop = store.onChange(() => {
        told += 1;
      });
      for (let count = 0; count < 3; count++) await store.waiting({ asker: EVERYONE, session: session.id });
      await new Promise(setImmediate);
      stop();
      assert.equal(told, 0);
      assert.deepEqual(present(await claim(session.id)).inputs, [1]);
    });
  });

  describe("whoever listens", () => {
    rule(
      "is told of what was done, and not of what could not be had",
      async ({ begin, beat, store, quiet }) => {
        const turn = await begin(ANN, "hello");
        await beat("r2");
        const name = "terminal:1";
        await store.lease({ name, runner: "r1", ttlMs: 1000, now: T0 });
        await quiet();
        let told = 0;
        const stop = store.onChange(() => {
          told += 1;
        });
        // Whoever asks again at every change must not be woken by asking.
        assert.equal(
          await store.claim({ session: turn.session, runner: "r2", take: "one", now: T0 }),
          undefined,
        );
        assert.equal(await store.lease({ name, runner: "r2", ttlMs: 1000, now: T0 }), undefined);
        await new Promise(setImmediate);
        assert.equal(told, 0);
        await beat("r2");
        await new Promise(setImmediate);
        stop();
        assert.equal(told, 1);
      },
    );
  });
}
