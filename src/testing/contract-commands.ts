import assert from "node:assert/strict";
import type { AcceptCommand } from "../core/turn.ts";
import {
  ANN,
  assertRejects,
  BOB,
  EVERYONE,
  HOUR,
  inGroup,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

/** Commands are stored before they act, and act once. */
export function defineCommandRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a command", () => {
    rule("is accepted once, even if it arrives several times", async (scene) => {
      const first = await sendCommand(scene, "/status", { messageId: "7" });
      assert.equal(first.duplicate, false);
      const again = { duplicate: true, inbox: first.inbox };
      assert.deepEqual(await sendCommand(scene, "/status", { messageId: "7" }), again);
      await scene.reopen();
      await scene.store.outbox.enqueue({
        deliveries: [],
        answeredCommand: first.inbox,
        runner: "r1",
        now: T0,
      });
      assert.deepEqual(
        await sendCommand(scene, "/status", { messageId: "7" }),
        again,
        "also when it is done",
      );
      const others = [{ source: BOB }, { source: { ...ANN, platform: "signal" } }, { profile: "second" }];
      for (const other of others)
        assert.equal((await sendCommand(scene, "/status", { messageId: "7", ...other })).duplicate, false);
      await assertRejects(sendCommand(scene, "/status", { messageId: "" }), "invalid_input");
    });

    rule(
      "and a message with the same id are duplicates of each other: the first one counts",
      async (scene) => {
        const { take, accept } = scene;
        const message = await take(ANN, "hello", { messageId: "7" });
        assert.deepEqual(await sendCommand(scene, "hello", { messageId: "7" }), {
          duplicate: true,
          inbox: message.inbox,
        });
        const { inbox } = await sendCommand(scene, "/new", { messageId: "8" });
        assert.deepEqual(await accept(ANN, "/new", { messageId: "8" }), { duplicate: true, inbox });
      },
    );

    rule("moves the cursor, also as a duplicate", async (scene) => {
      const at = (value: string) => ({ messageId: "7", cursor: { name: "telegram", value } });
      await sendCommand(scene, "/status", at("100"));
      assert.equal(await scene.store.inbox.getCursor({ name: "telegram" }), "100");
      await sendCommand(scene, "/status", at("101"));
      await scene.reopen();
      assert.equal(await scene.store.inbox.getCursor({ name: "telegram" }), "101");
    });

    rule("creates no account, person or conversation, and does not count as activity", async (scene) => {
      const { store, talk } = scene;
      await sendCommand(scene, "let me in", { source: BOB });
      assert.deepEqual(await store.conversations.findConversations({ asker: EVERYONE, source: BOB }), []);
      assert.equal(await store.access.readPersonData({ platform: "telegram", account: "bob" }), undefined);
      assert.equal((await store.sessions.getStats({ asker: EVERYONE })).sessions, 0);
      await talk(ANN, "hello", "hi");
      const before = await store.conversations.findConversations({ asker: EVERYONE, source: ANN });
      await sendCommand(scene, "/status", { now: T0 + HOUR });
      assert.deepEqual(await store.conversations.findConversations({ asker: EVERYONE, source: ANN }), before);
      assert.deepEqual(await store.turns.listClaimable({ now: T0 }), []);
    });

    rule("is orphaned when its runner ends before the answer, and not earlier", async (scene) => {
      const { store, beat } = scene;
      await beat("r1");
      await beat("r2");
      const group = inGroup("ann", { threadId: "4" });
      const one = await sendCommand(scene, "/title A ‘b’\n", { messageId: "7", source: group });
      const two = await sendCommand(scene, "/status", { messageId: "8" });
      await sendCommand(scene, "/status", { messageId: "9", source: { ...ANN, platform: "signal" } });
      await sendCommand(scene, "/help", { messageId: "10", runner: "r2" });
      const left = (platform = "telegram") => scene.store.inbox.listOrphanedCommands({ platform, now: T0 });
      assert.deepEqual(await left(), []);
      await store.runners.retire({ runner: "r1" });
      await scene.reopen();
      assert.deepEqual(await left(), [
        { inbox: one.inbox, source: group, messageId: "7", line: "/title A ‘b’\n" },
        { inbox: two.inbox, source: ANN, messageId: "8", line: "/status" },
      ]);
      assert.equal((await left("signal")).length, 1);
      await scene.store.outbox.enqueue({ deliveries: [], answeredCommand: one.inbox, runner: "r2", now: T0 });
      assert.deepEqual(
        (await left()).map(({ inbox }) => inbox),
        [two.inbox],
      );
    });

    rule("is marked as done in the commit that stores its answer", async (scene) => {
      const { store } = scene;
      const { inbox } = await sendCommand(scene, "/status");
      const broken = {
        target: ANN,
        parts: [{ type: "file" as const, blob: "ff", mimeType: "a/b", size: 1 }],
      };
      const answer = { target: ANN, parts: [{ type: "text" as const, text: "fine" }] };
      await assertRejects(
        store.outbox.enqueue({ deliveries: [answer, broken], answeredCommand: inbox, runner: "r1", now: T0 }),
        "invalid_input",
      );
      const left = () => store.inbox.listOrphanedCommands({ platform: "telegram", now: T0 });
      assert.equal((await left()).length, 1);
      assert.deepEqual(await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 10 }), []);
      await store.outbox.enqueue({ deliveries: [answer], answeredCommand: inbox, runner: "r1", now: T0 });
      assert.deepEqual(await left(), []);
      assert.equal((await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 10 })).length, 1);
    });

    rule("is part of its sender's data and is erased with them, while it is pending", async (scene) => {
      const { store, talk } = scene;
      const { owner } = await talk(ANN, "hello", "hi");
      await sendCommand(scene, "/title secret", { source: inGroup("ann"), messageId: "7" });
      await sendCommand(scene, "/title other", { source: inGroup("bob"), messageId: "8" });
      const data = requireValue(await store.access.readPersonData({ person: owner }));
      const lines = data.inbox.filter(({ state }) => state === "unanswered");
      assert.deepEqual(
        lines.map(({ message }) => message?.parts),
        [[{ type: "text", text: "/title secret" }]],
      );
      let step: { done: boolean; after?: number } = { done: false };
      while (!step.done) {
        const erased = await store.access.erasePerson({ person: owner, limit: 100, now: T0, ...step });
        assert.ok("done" in erased);
        step = erased;
      }
      await store.runners.retire({ runner: "r1" });
      const left = await store.inbox.listOrphanedCommands({ platform: "telegram", now: T0 });
      assert.deepEqual(
        left.map(({ messageId }) => messageId),
        ["8"],
      );
    });
  });
}

let lastNumber = 0;

function sendCommand(
  { store }: Scene,
  words: string,
  more: Partial<AcceptCommand> = {},
): ReturnType<Scene["store"]["inbox"]["acceptCommand"]> {
  lastNumber += 1;
  return store.inbox.acceptCommand({
    profile: "main",
    source: ANN,
    messageId: `line ${lastNumber}`,
    line: words,
    runner: "r1",
    now: T0,
    ...more,
  });
}
