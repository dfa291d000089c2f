import assert from "node:assert/strict";
import type { Expire } from "../core/conversation.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import {
  ANN,
  DAY,
  EVERYONE,
  HOUR,
  inGroup,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const STALE = { idleBefore: T0 + 1 };
const LATER = T0 + HOUR;

/** Expiry of idle conversations. */
export function defineExpiryRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a conversation that expires", () => {
    rule("ends its session, still points to it, and records the decision", async (scene) => {
      const { talk, get, store } = scene;
      const old = await talk(ANN, "hello", "hi");
      const { number, activeAt } = await findConversation(scene);
      const expired = await expire(scene);
      assert.ok(expired.expired);
      assert.deepEqual([expired.reason, expired.ended], ["idle", true]);
      const ended = await get(old.id);
      assert.deepEqual(expired.session, ended);
      assert.deepEqual([ended.endReason, ended.endedAt], ["idle", LATER]);
      const now = await findConversation(scene);
      assert.deepEqual([now.session, now.activeAt], [old.id, activeAt]);
      const [decision] = await store.conversations.listDecisions({ asker: EVERYONE, conversation: number });
      assert.deepEqual(decision, {
        at: LATER,
        decision: "expired",
        reason: "idle",
        activeAt: T0,
        idleBefore: T0 + 1,
        from: old.id,
      });
      assert.deepEqual(await expire(scene, { now: LATER + 1 }), { expired: false });
    });

    rule("does so by its last activity, but never later than now", async (scene) => {
      await scene.talk(ANN, "hello", "hi");
      await scene.store.conversations.clampActivity({ now: T0 + HOUR });
      assert.equal((await findConversation(scene)).activeAt, T0, "an earlier time stays");
      await scene.store.conversations.clampActivity({ now: T0 - DAY });
      await scene.reopen();
      assert.equal((await findConversation(scene)).activeAt, T0 - DAY);
    });

    rule("is reset by the next message, with the reason of the policy", async (scene) => {
      const old = await scene.talk(ANN, "hello", "hi");
      await expire(scene, { reset: { dailyBefore: T0 + 1 } });
      await scene.reopen();
      // Without a policy, because it has already expired.
      const taken = await scene.take(ANN, "good morning", { now: LATER + 5 });
      assert.notEqual(taken.session.id, old.id);
      assert.deepEqual(taken.fresh, {
        reason: "daily",
        hadActivity: true,
        previous: { session: old.id, handle: old.handle },
        noteDue: true,
        noticeDue: true,
      });
      const left = await scene.get(old.id);
      assert.deepEqual([left.endReason, left.endedAt], ["daily", LATER]);
      const next = await scene.take(ANN, "and more", { now: LATER + 6 });
      assert.equal(next.session.id, taken.session.id);
    });

    rule("is reset when it is opened, and notifies nobody if that is disabled", async (scene) => {
      const old = await scene.talk(ANN, "hello", "hi");
      await expire(scene);
      const opened = await scene.open(ANN, { now: LATER, notify: false });
      assert.notEqual(opened.session.id, old.id);
      assert.deepEqual([opened.fresh?.noteDue, opened.fresh?.noticeDue], [true, false]);
      assert.equal((await scene.open(ANN, { now: LATER })).session.id, opened.session.id);
    });

    rule("continues in the same session when that is resumed", async (scene) => {
      const old = await scene.talk(ANN, "hello", "hi");
      const { number: conversation } = await findConversation(scene);
      await expire(scene);
      const asker = { person: old.owner };
      const back = throwIfRefused(
        await scene.store.conversations.switchTo({ asker, session: old.id, conversation, now: LATER + 1 }),
      );
      assert.deepEqual([back.session.id, back.session.endedAt], [old.id, undefined]);
      assert.equal(back.conversation.activeAt, LATER + 1);
      const taken = await scene.take(ANN, "where were we?", { now: LATER + 2 });
      assert.deepEqual([taken.session.id, taken.fresh], [old.id, undefined]);
    });

    rule("is no longer expired after a new session was requested", async (scene) => {
      await scene.talk(ANN, "hello", "hi");
      const { number: conversation, person } = await findConversation(scene);
      await expire(scene);
      const newSession = { id: "wished", kind: "chat" as const };
      const asker = { person: requireValue(person) };
      throwIfRefused(await scene.store.conversations.reset({ asker, conversation, newSession, now: LATER }));
      const taken = await scene.take(ANN, "go", { now: LATER });
      assert.deepEqual([taken.session.id, taken.fresh], ["wished", undefined]);
    });

    rule("does not end a session that is current in another conversation", async (scene) => {
      const { store, talk, get } = scene;
      const { id: session, owner: person } = await talk(ANN, "hello", "hi", { person: "p_ann" });
      const onSignal = { ...ANN, platform: "signal" };
      const other = (await scene.open(onSignal, { person })).conversation.number;
      throwIfRefused(
        await store.conversations.switchTo({ asker: { person }, session, conversation: other, now: T0 }),
      );
      const first = await expire(scene);
      assert.ok(first.expired);
      assert.equal(first.ended, false);
      assert.equal((await get(session)).endedAt, undefined);
      const second = await expire(scene, { conversation: other, now: LATER + 1 });
      assert.ok(second.expired && second.ended);
      assert.equal((await get(session)).endedAt, LATER + 1);
    });

    rule("ends a session that all other conversations have left", async (scene) => {
      const { store, talk, get } = scene;
      const { id: session, owner: person } = await talk(ANN, "hello", "hi", { person: "p_ann" });
      const onSignal = { ...ANN, platform: "signal" };
      const other = (await scene.open(onSignal, { person })).conversation.number;
      throwIfRefused(
        await store.conversations.switchTo({ asker: { person }, session, conversation: other, now: T0 }),
      );
      await expire(scene);
      await scene.open(onSignal, { person, fresh: true, now: LATER + 1 });
      assert.deepEqual([(await get(session)).endReason, (await get(session)).endedAt], ["new", LATER + 1]);
    });

    rule("does not expire while it is not due, busy or on hold", async (scene) => {
      const { store, talk, begin, take } = scene;
      await talk(ANN, "hello", "hi");
      assert.deepEqual(await expire(scene, { reset: {} }), { expired: false });
      assert.deepEqual(await expire(scene, { reset: { idleBefore: T0 } }), { expired: false });
      assert.deepEqual(await expire(scene, { conversation: 4711 }), { expired: false });
      await begin(inGroup("runs"), "one");
      await take(inGroup("waits"), "one");
      const { id: session } = await talk(inGroup("held"), "hello", "hi");
      throwIfRefused(await store.sessions.hold({ asker: EVERYONE, session, name: "job", until: T0 + DAY }));
      for (const name of ["runs", "waits", "held"]) {
        const { number: conversation } = await findConversation(scene, inGroup(name), name);
        assert.deepEqual(await expire(scene, { conversation }), { expired: false });
        const [decision] = await store.conversations.listDecisions({ asker: EVERYONE, conversation });
        assert.equal(decision?.decision, "kept_busy");
      }
    });
  });

  describe("idle conversations", () => {
    rule("are those with messages and no activity since, in pages", async (scene) => {
      const { talk, open, store } = scene;
      for (const name of ["a", "b", "c"]) await talk(inGroup(name), "hello", "hi");
      await open(inGroup("nothing said"));
      await talk(inGroup("speaks"), "hello", "hi", { now: LATER });
      const closed = await talk(inGroup("closed"), "hello", "hi");
      throwIfRefused(
        await store.sessions.change({
          asker: EVERYONE,
          session: closed.id,
          change: { ended: true },
          now: T0,
        }),
      );
      const expired = await findConversation(scene, inGroup("b"), "b");
      await expire(scene, { conversation: expired.number });
      const one = await store.conversations.listIdle({ before: LATER, limit: 1 });
      const first = requireValue(one[0]);
      assert.deepEqual(first.conversation, await findConversation(scene, inGroup("a"), "a"));
      assert.deepEqual([first.platform, first.chatType], ["telegram", "group"]);
      const more = await store.conversations.listIdle({
        before: LATER,
        after: first.conversation.number,
        limit: 10,
      });
      assert.deepEqual(
        more.map(({ conversation }) => conversation),
        [await findConversation(scene, inGroup("c"), "c")],
      );
      assert.deepEqual(await store.conversations.listIdle({ before: T0, limit: 10 }), []);
    });

    rule("are idle again after activity that followed the expiry", async (scene) => {
      await scene.talk(ANN, "hello", "hi");
      await expire(scene);
      assert.deepEqual(await scene.store.conversations.listIdle({ before: LATER, limit: 10 }), []);
      await scene.talk(ANN, "again", "hi", { now: LATER });
      assert.equal((await scene.store.conversations.listIdle({ before: LATER + 1, limit: 10 })).length, 1);
    });
  });
}

async function expire(scene: Scene, more: Partial<Expire> = {}) {
  const conversation = more.conversation ?? (await findConversation(scene)).number;
  return scene.store.conversations.expireConversation({ conversation, reset: STALE, now: LATER, ...more });
}

/** The conversation of this source; in a group, that of the sender. */
async function findConversation({ store }: Scene, source: Source = ANN, name?: string) {
  const all = await store.conversations.findConversations({ asker: EVERYONE, source });
  return requireValue(name === undefined ? all[0] : all.find(({ key }) => key.endsWith(`:${encode(name)}`)));
}

function encode(name: string): string {
  return name.replaceAll("%", "%25").replaceAll(":", "%3A");
}
