import assert from "node:assert/strict";
import type { Conversation, SettingsChange } from "../core/conversation.ts";
import type { Asker } from "../core/owner.ts";
import { type Refused, throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  BOB,
  EVERYONE,
  GROUP,
  HOUR,
  inGroup,
  requireValue,
  SCOPE_SHARED,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const ONE = { runner: "r1", take: "one" } as const;

/** Settings of conversations, and the data of their turns. */
export function defineSettingsRules({ describe }: TestApi, rule: StoreRule): void {
  describe("the settings of a conversation", () => {
    rule("are empty at first, and change one by one", async (scene) => {
      const { conversation } = await scene.open(ANN);
      assert.deepEqual(conversation.settings, {});
      const change = async (wanted: SettingsChange) =>
        throwIfRefused(await changeSettings(scene, EVERYONE, conversation.number, wanted)).settings;
      assert.deepEqual(await change({ busy: "queue" }), { busy: "queue" });
      assert.deepEqual(await change({ model: "m1", personality: "terse" }), {
        busy: "queue",
        model: "m1",
        personality: "terse",
      });
      await scene.reopen();
      assert.deepEqual(await change({ busy: null, model: "m2" }), { model: "m2", personality: "terse" });
      assert.deepEqual((await scene.open(ANN)).conversation.settings, { model: "m2", personality: "terse" });
      assert.deepEqual(await change({ model: null, personality: null, busy: null }), {});
      assert.deepEqual((await scene.open(ANN)).conversation, conversation);
    });

    rule("apply to it only, and survive a reset", async (scene) => {
      const { open, talk } = scene;
      await talk(ANN, "hello", "hi");
      const { conversation } = await open(ANN);
      throwIfRefused(await changeSettings(scene, EVERYONE, conversation.number, { busy: "collect" }));
      assert.deepEqual((await open(BOB)).conversation.settings, {});
      const fresh = await open(ANN, { fresh: true });
      assert.equal(fresh.created, true);
      assert.deepEqual(fresh.conversation.settings, { busy: "collect" });
    });

    rule("do not count as activity when they change", async (scene) => {
      const { conversation } = await scene.open(ANN);
      const chosen = throwIfRefused(
        await changeSettings(scene, EVERYONE, conversation.number, { busy: "queue" }, T0 + HOUR),
      );
      assert.equal(chosen.activeAt, conversation.activeAt);
    });

    rule("can be changed by people in the chat who may see its session", async (scene) => {
      const { open, talk, store } = scene;
      const ann = { person: (await talk(ANN, "hello", "hi")).owner };
      const bob = { person: (await talk(BOB, "hello", "hi")).owner };
      const mine = (await open(ANN)).conversation.number;
      const wanted = { busy: "queue" } as const;
      assertRefused(await changeSettings(scene, bob, mine, wanted), "not_found");
      assertRefused(await changeSettings(scene, { ...ann, chat: GROUP }, mine, wanted), "not_found");
      assertRefused(await changeSettings(scene, ann, 999, wanted), "not_found");
      assert.deepEqual((await open(ANN)).conversation.settings, {});
      throwIfRefused(await changeSettings(scene, ann, mine, wanted));
      const shared = await open(inGroup("ann"), { scope: SCOPE_SHARED });
      assertRefused(await changeSettings(scene, ann, shared.conversation.number, wanted), "not_found");
      throwIfRefused(
        await changeSettings(scene, { ...bob, chat: GROUP }, shared.conversation.number, wanted),
      );
      const [known] = await store.conversations.findConversations({
        asker: EVERYONE,
        source: inGroup("ann"),
      });
      assert.deepEqual(known?.settings, wanted);
    });
  });

  describe("a turn contains", () => {
    rule("the settings of its conversation, for every way to start it", async (scene) => {
      const { begin, take, finish, claim, store } = scene;
      const first = await begin(ANN, "one");
      assert.deepEqual(first.settings, {});
      throwIfRefused(await changeSettings(scene, EVERYONE, first.conversation, { model: "m1" }));
      await take(ANN, "two", { claim: ONE });
      await take(ANN, "three");
      const next = requireValue((await finish(first, "1", { next: ONE })).next);
      assert.deepEqual(next.settings, { model: "m1" });
      await store.runners.retire({ runner: "r1" });
      throwIfRefused(await changeSettings(scene, EVERYONE, first.conversation, { model: "m2" }));
      const again = requireValue(await claim(first.session, "r2"));
      assert.deepEqual([again.number, again.settings], [next.number, { model: "m2" }]);
      await finish(again, "2");
      const third = requireValue(await claim(first.session, "r2"));
      assert.deepEqual(third.settings, { model: "m2" });
      await finish(third, "3");
      assert.deepEqual((await begin(ANN, "four")).settings, { model: "m2" });
    });

    rule("a reset, until the model and the person were notified", async (scene) => {
      const { talk, take, begin, finish, claim, store } = scene;
      const old = await talk(ANN, "hello", "hi");
      const late = { reset: { idleBefore: T0 + 1 }, now: T0 + HOUR };
      const turn = await begin(ANN, "again", late);
      const fresh = {
        reason: "idle" as const,
        hadActivity: true,
        previous: { session: old.id, handle: old.handle },
        noteDue: true,
        noticeDue: true,
      };
      assert.deepEqual(turn.fresh, fresh);
      await store.runners.retire({ runner: "r1" });
      const again = requireValue(await claim(turn.session, "r2", T0 + HOUR));
      assert.deepEqual(again.fresh, fresh);
      await take(ANN, "more");
      const shown = { note: true };
      const next = requireValue(
        (await finish(again, "1", { notified: shown, next: { ...ONE, runner: "r2" } })).next,
      );
      assert.deepEqual(next.fresh, { ...fresh, noteDue: false });
      const last = { notified: { notice: true }, next: ONE };
      assert.equal((await finish(next, "2", last)).next, undefined);
      assert.equal((await begin(ANN, "well")).fresh, undefined);
    });
  });

  describe("a pending message", () => {
    rule("gets the number of the turn that it waits for", async ({ begin, take, finish }) => {
      const turn = await begin(ANN, "one");
      assert.equal((await take(ANN, "two", { claim: ONE })).running, turn.number);
      await finish(turn, "1");
      const third = await take(ANN, "three", { claim: ONE });
      assert.deepEqual([third.turn, third.running], [undefined, undefined], "only the second is before it");
      const { running } = await take(BOB, "his", { claim: ONE });
      assert.equal(running, undefined);
    });
  });

  describe("claimable work", () => {
    rule("contains the platform of its next answer", async (scene) => {
      const { open, take, begin, claim, finish, store, get } = scene;
      const signal = { ...ANN, platform: "signal" };
      const turn = await begin(ANN, "one", { person: "p_ann" });
      const { conversation } = await open(signal, { person: "p_ann" });
      const asker = { person: (await get(turn.session)).owner };
      throwIfRefused(
        await store.conversations.switchTo({
          asker,
          session: turn.session,
          conversation: conversation.number,
          now: T0,
        }),
      );
      await take(signal, "two");
      await take(ANN, "three");
      const work = () => store.turns.listClaimable({ now: T0 });
      const on = (platform: string) => [{ session: turn.session, platform }];
      await store.runners.retire({ runner: "r1" });
      assert.deepEqual(await work(), on("telegram"), "the turn that runs");
      await finish(requireValue(await claim(turn.session, "r2")), "1");
      assert.deepEqual(await work(), on("signal"), "the oldest pending message");
      await finish(requireValue(await claim(turn.session, "r2")), "2");
      assert.deepEqual(await work(), on("telegram"));
    });
  });
}

function changeSettings(
  { store }: Scene,
  asker: Asker,
  conversation: number,
  change: SettingsChange,
  now: number = T0,
): Promise<Conversation | Refused> {
  return store.conversations.changeConversationSettings({ asker, conversation, change, now });
}
