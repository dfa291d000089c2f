import assert from "node:assert/strict";
import { getText } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Accepted } from "../core/turn.ts";
import {
  ANN,
  BOB,
  EVERYONE,
  HOUR,
  inGroup,
  requireValue,
  SCOPE_SHARED,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const ONE = { runner: "r1", take: "one" } as const;
const ALL = { runner: "r1", take: "all" } as const;

/** The number of pending messages, and whether this is the first refused one. */
function readQueueState(accepted: Accepted): [number, boolean] {
  assert.ok("isFirst" in accepted, "it was accepted");
  return [accepted.tooMany, accepted.isFirst];
}

/** Pending messages, and listeners of the store. */
export function definePendingRules({ describe }: TestApi, rule: StoreRule): void {
  describe("pending messages", () => {
    rule("are all accepted messages whose turn has not started, in order and unchanged", async (scene) => {
      const turn = await scene.begin(ANN, "one");
      const origin = { platform: "telegram", platformMessageId: "9" };
      await scene.take(ANN, "", { message: user("two", { origin }), claim: ONE });
      await scene.take(ANN, "three");
      await scene.reopen();
      const ask = { asker: EVERYONE, session: turn.session };
      const waiting = await scene.store.inbox.listPending(ask);
      assert.deepEqual(waiting, [user("two", { origin }), user("three")]);
      const second = requireValue((await scene.finish(turn, "1", { next: ONE })).next);
      assert.deepEqual((await scene.store.inbox.listPending(ask)).map(getText), ["three"]);
      const third = requireValue((await scene.finish(second, "2", { next: ONE })).next);
      assert.deepEqual(await scene.store.inbox.listPending(ask), []);
      await scene.finish(third, "3");
      assert.deepEqual(await scene.store.inbox.listPending(ask), []);
    });

    rule("are empty after a cancellation", async ({ begin, take, store }) => {
      const turn = await begin(ANN, "one");
      const { conversation } = await take(ANN, "two");
      await store.inbox.cancelPending({ conversation: conversation.number, now: T0 });
      assert.deepEqual(await store.inbox.listPending({ asker: EVERYONE, session: turn.session }), []);
    });

    rule(
      "wait in the current session of their conversation, together with those of other conversations",
      async (scene) => {
        const { create, open, take, store } = scene;
        const session = await create("p_ann", ["hello"]);
        for (const thread of ["1", "2"]) {
          const source = { ...ANN, threadId: thread };
          const { conversation } = await open(source, { person: "p_ann" });
          const first = await take(source, `from ${thread}`);
          const ask = { asker: EVERYONE, session: first.session.id };
          assert.deepEqual((await store.inbox.listPending(ask)).map(getText), [`from ${thread}`]);
          const to = { conversation: conversation.number, session: session.id };
          throwIfRefused(await store.conversations.switchTo({ asker: { person: "p_ann" }, ...to, now: T0 }));
          assert.deepEqual(await store.inbox.listPending(ask), []);
        }
        const waiting = await store.inbox.listPending({ asker: EVERYONE, session: session.id });
        assert.deepEqual(waiting.map(getText), ["from 1", "from 2"]);
      },
    );

    rule("are visible to those who may see the session, and empty for others", async (scene) => {
      const { take, store } = scene;
      const own = await take(ANN, "mine");
      const ask = (asker: typeof EVERYONE, session = own.session.id) =>
        store.inbox.listPending({ asker, session });
      const ann = { person: own.session.owner };
      const { session: bobs } = await take(BOB, "his");
      assert.equal((await ask(ann)).length, 1);
      assert.deepEqual(await ask({ person: bobs.owner }), []);
      assert.deepEqual(await ask({ ...ann, chat: "chat:telegram:-100" }), []);
      assert.deepEqual(await ask(ann, bobs.id), []);
      assert.deepEqual(await ask(ann, "none"), []);
      const group = await take(inGroup("ann"), "ours", { scope: SCOPE_SHARED });
      const there = { ...ann, chat: group.session.owner };
      assert.equal((await ask(there, group.session.id)).length, 1);
    });

    rule(
      "can be read without starting a turn or notifying listeners",
      async ({ take, store, claim, waitUntilIdle }) => {
        const { session } = await take(ANN, "hello");
        await waitUntilIdle();
        let told = 0;
        const stop = store.onChange(() => {
          told += 1;
        });
        for (let count = 0; count < 3; count++)
          await store.inbox.listPending({ asker: EVERYONE, session: session.id });
        await new Promise(setImmediate);
        stop();
        assert.equal(told, 0);
        assert.deepEqual(requireValue(await claim(session.id)).inputs, [1]);
      },
    );
  });

  describe("the limit of pending messages", () => {
    rule("applies if it is given, and a further message is refused", async (scene) => {
      const { begin, take, accept, store, finish, shows } = scene;
      const turn = await begin(ANN, "one");
      const most = { claim: ONE, maxPending: 2 };
      await take(ANN, "two", most);
      await take(ANN, "three", { ...most, now: T0 + 1 });
      const before = await store.conversations.findConversations({ asker: EVERYONE, source: ANN });
      const cursor = { name: "telegram", value: "9" };
      const refused = await accept(ANN, "four", { ...most, messageId: "4", cursor, now: T0 + HOUR });
      const inbox = refused.inbox;
      assert.deepEqual(refused, { duplicate: false, inbox, tooMany: 2, isFirst: true });
      assert.deepEqual(await store.conversations.findConversations({ asker: EVERYONE, source: ANN }), before);
      assert.equal(await store.inbox.getCursor({ name: "telegram" }), "9");
      const next = requireValue((await finish(turn, "", { next: ALL })).next);
      assert.deepEqual(await shows(turn.session), ["one", "two", "three"]);
      assert.deepEqual(await accept(ANN, "four", { ...most, messageId: "4" }), { duplicate: true, inbox });
      await finish(next, "");
      assert.notEqual((await take(ANN, "five", most)).turn, undefined);
      assert.deepEqual(await shows(turn.session), ["one", "two", "three", "five"]);
    });

    rule(
      "does not apply to a message that starts at once, and is separate for each conversation",
      async (scene) => {
        const { begin, take, beat, accept } = scene;
        await beat("r1");
        const none = { claim: ONE, maxPending: 0 };
        assert.notEqual((await take(BOB, "one", none)).turn, undefined);
        assert.deepEqual(readQueueState(await accept(BOB, "two", none)), [0, true]);
        await begin(ANN, "one");
        await take(ANN, "two", { claim: ONE, maxPending: 1 });
        assert.deepEqual(readQueueState(await accept(ANN, "three", { claim: ONE, maxPending: 1 })), [
          1,
          true,
        ]);
        const group = { claim: ONE, maxPending: 1 };
        await take(inGroup("ann"), "one", group);
        assert.equal((await take(inGroup("ann"), "two", group)).tooMany, undefined);
      },
    );

    rule("marks the first refused message each time the queue is full", async (scene) => {
      const { begin, take, accept, finish, store } = scene;
      const turn = await begin(ANN, "one");
      const most = { claim: ONE, maxPending: 1 };
      await take(ANN, "two", most);
      const first = async () => readQueueState(await accept(ANN, "more", most))[1];
      assert.deepEqual([await first(), await first(), await first()], [true, false, false]);
      await take(BOB, "his");
      assert.equal(await first(), false);
      const next = requireValue((await finish(turn, "", { next: ONE })).next);
      const { conversation } = await take(ANN, "three", most);
      assert.deepEqual([await first(), await first()], [true, false]);
      await store.inbox.cancelPending({ conversation: conversation.number, now: T0 });
      await take(ANN, "four", most);
      assert.equal(await first(), true);
      await finish(next, "");
    });
  });

  describe("a message that was edited or deleted", () => {
    const place = { profile: "main", source: { platform: "telegram", chatId: "ann" }, messageId: "7" };

    rule("gets the new text while it is pending, with the same position and sender", async (scene) => {
      const turn = await scene.begin(ANN, "one");
      const origin = { platform: "telegram", platformMessageId: "7", userId: "ann" };
      const blob = { hash: "ab".repeat(32), bytes: new Uint8Array([1]) };
      const image = { type: "image" as const, blob: blob.hash, mimeType: "image/png", size: 1 };
      await scene.take(ANN, "", { message: user("two", { origin }), messageId: "7", now: T0 + 5 });
      await scene.take(ANN, "three");
      const { store } = scene;
      const changed = user("zwei", { origin: { platform: "telegram", userName: "Ann" } });
      const message = { ...changed, parts: [...changed.parts, image] };
      const cursor = { name: "telegram", value: "12" };
      const blobs = [blob];
      assert.equal(
        await store.inbox.editInbound({ ...place, message, blobs, cursor, now: T0 + HOUR }),
        "changed",
      );
      assert.equal(await store.inbox.getCursor({ name: "telegram" }), "12");
      await scene.reopen();
      const next = requireValue((await scene.finish(turn, "", { next: ALL })).next);
      assert.deepEqual(await scene.shows(turn.session), ["one", "zwei", "three"]);
      const [, said] = requireValue(
        await scene.store.messages.listMessages({ asker: EVERYONE, session: next.session }),
      );
      assert.equal(said?.at, T0 + 5);
      assert.deepEqual(said?.origin, { ...origin, userName: "Ann" });
      assert.deepEqual(await scene.store.messages.readBlob({ asker: EVERYONE, hash: blob.hash }), blob.bytes);
    });

    rule(
      "is removed if it was deleted while pending, and a redelivery does not restore it",
      async (scene) => {
        const { begin, take, accept, finish, store, shows } = scene;
        const turn = await begin(ANN, "one");
        const blob = { hash: "ab".repeat(32), bytes: new Uint8Array([1]) };
        const image = { type: "image" as const, blob: blob.hash, mimeType: "image/png", size: 1 };
        const message = { role: "user" as const, parts: [image] };
        const { conversation } = await take(ANN, "", { message, blobs: [blob], messageId: "7", now: T0 });
        assert.equal(await store.inbox.editInbound({ ...place, now: T0 + HOUR }), "changed");
        assert.deepEqual(await store.inbox.listPending({ asker: EVERYONE, session: turn.session }), []);
        assert.equal(
          await store.messages.readBlob({ asker: EVERYONE, hash: blob.hash }),
          undefined,
          "nor do its bytes stay",
        );
        assert.equal((await accept(ANN, "two", { messageId: "7" })).duplicate, true);
        assert.equal((await finish(turn, "", { next: ONE })).next, undefined);
        assert.deepEqual(await shows(turn.session), ["one"]);
        const [after] = await store.conversations.findConversations({ asker: EVERYONE, source: ANN });
        assert.equal(after?.activeAt, conversation.activeAt, "a deletion is no activity");
        assert.equal(await store.inbox.editInbound({ ...place, message: user("no"), now: T0 }), "late");
      },
    );

    rule("stays unchanged after its turn has started; the edit is only recorded", async (scene) => {
      const { begin, finish, store, shows } = scene;
      const turn = await begin(ANN, "one", { messageId: "7" });
      const cursor = { name: "telegram", value: "12" };
      assert.equal(
        await store.inbox.editInbound({ ...place, message: user("eins"), cursor, now: T0 }),
        "late",
      );
      assert.equal(await store.inbox.getCursor({ name: "telegram" }), "12");
      await finish(turn, "answer");
      assert.equal(await store.inbox.editInbound({ ...place, now: T0 }), "late");
      assert.deepEqual(await shows(turn.session), ["one", "answer"]);
    });

    rule("is unknown if it was never accepted, and the cursor still moves", async (scene) => {
      const { take, store } = scene;
      await take(ANN, "hello", { messageId: "7" });
      const cursor = { name: "telegram", value: "12" };
      const elsewhere = [
        { messageId: "8" },
        { profile: "second" },
        { source: { platform: "signal", chatId: "ann" } },
        { source: { platform: "telegram", chatId: "bob" } },
      ];
      for (const other of elsewhere) {
        assert.equal(await store.inbox.editInbound({ ...place, ...other, now: T0 }), "unknown");
      }
      assert.equal(await store.inbox.editInbound({ ...place, messageId: "8", cursor, now: T0 }), "unknown");
      assert.equal(await store.inbox.getCursor({ name: "telegram" }), "12");
    });
  });

  describe("a listener", () => {
    rule(
      "is called after a change, and not after a refused call",
      async ({ begin, beat, store, waitUntilIdle }) => {
        const turn = await begin(ANN, "hello");
        await beat("r2");
        const name = "terminal:1";
        await store.runners.acquireLease({ name, runner: "r1", ttlMs: 1000, now: T0 });
        await waitUntilIdle();
        let told = 0;
        const stop = store.onChange(() => {
          told += 1;
        });
        // A caller that reads at every change must not be woken by its own read.
        assert.equal(
          await store.turns.claim({ session: turn.session, runner: "r2", take: "one", now: T0 }),
          undefined,
        );
        assert.equal(
          await store.runners.acquireLease({ name, runner: "r2", ttlMs: 1000, now: T0 }),
          undefined,
        );
        assert.equal(await store.outbox.beginDelivery({ delivery: 1, runner: "r2", now: T0 }), undefined);
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
