import assert from "node:assert/strict";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assistant,
  BOB,
  DAY,
  EVERYONE,
  GROUP,
  HOUR,
  inGroup,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

/** Messages and usage of a period, and home channels. */
export function defineInsightRules({ describe }: TestApi, rule: StoreRule): void {
  describe("insights", () => {
    rule("count the messages since then in all sessions that the asker may see", async (scene) => {
      const { talk, store } = scene;
      const ann = await talk(ANN, "hello", "hi");
      const call = { id: "1", name: "look", arguments: {} };
      await store.messages.append({
        asker: EVERYONE,
        session: ann.id,
        messages: [user("look"), assistant("", { toolCalls: [call, { ...call, id: "2" }] })],
        now: T0 + DAY,
      });
      throwIfRefused(
        await store.sessions.recordUsage({
          asker: EVERYONE,
          session: ann.id,
          purpose: "answer",
          usage: { inputTokens: 5, outputTokens: 2, costUsd: 0.5, costStatus: "actual" },
          now: T0 + DAY,
        }),
      );
      const bob = await talk({ ...BOB, platform: "signal" }, "hello", "hi", { now: T0 + DAY });
      await scene.open(inGroup("carl"), { now: T0 + DAY });
      const all = await store.sessions.getInsights({ asker: EVERYONE, since: T0 });
      assert.deepEqual([all.sessions, all.messages, all.humanMessages, all.toolCalls], [2, 6, 3, 2]);
      assert.deepEqual(all.byPlatform, [
        { platform: "telegram", sessions: 1, messages: 4 },
        { platform: "signal", sessions: 1, messages: 2 },
      ]);
      assert.deepEqual(all.busiest, [
        { handle: ann.handle, messages: 4 },
        { handle: bob.handle, messages: 2 },
      ]);
      assert.deepEqual(
        [all.usage.inputTokens, all.usage.totalTokens, all.usage.costUsd, all.usage.costStatus],
        [5, 7, 0.5, "actual"],
      );
      const since = await store.sessions.getInsights({ asker: EVERYONE, since: T0 + HOUR });
      assert.deepEqual([since.sessions, since.messages, since.humanMessages, since.toolCalls], [2, 4, 2, 2]);
      const own = await store.sessions.getInsights({ asker: { person: bob.owner }, since: T0 });
      assert.deepEqual([own.sessions, own.messages, own.usage.totalTokens], [1, 2, 0]);
      const there = await store.sessions.getInsights({ asker: EVERYONE, since: T0, platform: "signal" });
      assert.deepEqual([there.sessions, there.messages], [1, 2]);
      const inChat = await store.sessions.getInsights({
        asker: { person: bob.owner, chat: GROUP },
        since: T0,
      });
      assert.equal(inChat.sessions, 0);
      const none = await store.sessions.getInsights({ asker: EVERYONE, since: T0 + 2 * DAY });
      assert.deepEqual([none.sessions, none.messages, none.byPlatform, none.busiest], [0, 0, [], []]);
    });

    rule("list the busiest sessions first, with their titles", async ({ create, store }) => {
      for (let n = 1; n <= 6; n += 1) {
        const lines = Array.from({ length: n }, (_, line) => `line ${line}`);
        await create("p_ann", lines, { title: `of ${n}` });
      }
      const { busiest } = await store.sessions.getInsights({ asker: { person: "p_ann" }, since: T0 });
      assert.deepEqual(
        busiest.map(({ title }) => title),
        ["of 6", "of 5", "of 4", "of 3", "of 2"],
      );
    });
  });

  describe("the home channel", () => {
    rule("is one chat on each platform, the last one that was set", async (scene) => {
      const home = { platform: "telegram", chatId: "1", name: "Ann" };
      const there = { platform: "signal", chatId: "2", name: "Riders" };
      assert.deepEqual(await scene.store.conversations.listHomeChannels(), []);
      await scene.store.conversations.setHomeChannel({ home: { ...home, chatId: "0" }, now: T0 });
      await scene.store.conversations.setHomeChannel({ home: there, now: T0 });
      await scene.store.conversations.setHomeChannel({ home, now: T0 });
      await scene.reopen();
      assert.deepEqual(await scene.store.conversations.listHomeChannels(), [there, home]);
      assert.equal(await scene.store.conversations.removeHomeChannel({ platform: home.platform }), true);
      assert.equal(await scene.store.conversations.removeHomeChannel({ platform: home.platform }), false);
      assert.deepEqual(await scene.store.conversations.listHomeChannels(), [there]);
    });
  });
}
