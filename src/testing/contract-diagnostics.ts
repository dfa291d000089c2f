import assert from "node:assert/strict";
import {
  ANN,
  BOB,
  EVERYONE,
  GROUP,
  HOUR,
  inGroup,
  requireValue,
  SCOPE_SHARED,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

/** Data that explains the state of a session, a key or a message. */
export function defineDiagnosticsRules({ describe }: TestApi, rule: StoreRule): void {
  describe("the diagnostics of a session", () => {
    rule("contain its conversations, their owners and their pending messages", async ({ take, store }) => {
      const { session, conversation } = await take(inGroup("ann"), "hello");
      const asker = { person: session.owner };
      const around = requireValue(await store.sessions.getDiagnostics({ asker, session: session.id }));
      assert.deepEqual(around.conversations, [
        {
          ...conversation,
          identity: {
            profile: "main",
            platform: "telegram",
            chatType: "group",
            chatId: "-100",
            participant: { id: "ann" },
          },
          handle: session.handle,
          createdAt: T0,
          account: { platform: "telegram", id: "ann", name: "ann", person: session.owner },
          waiting: 1,
        },
      ]);
      assert.deepEqual([around.turns, around.deliveries, around.holds], [[], [], []]);
      assert.deepEqual(
        around.decisions.map(({ decision, to }) => [decision, to]),
        [["created", session.id]],
      );
    });

    rule("contain turns, deliveries and holds", async ({ begin, finish, store }) => {
      const turn = await begin(ANN, "hello");
      const parts = [{ type: "text" as const, text: "hi" }];
      await finish(turn, "hi", { deliveries: [{ target: ANN, parts }], now: T0 + 5 });
      await store.sessions.hold({ asker: EVERYONE, session: turn.session, name: "export", until: T0 + HOUR });
      const around = requireValue(
        await store.sessions.getDiagnostics({ asker: EVERYONE, session: turn.session }),
      );
      assert.deepEqual(around.turns, [
        {
          number: turn.number,
          conversation: turn.conversation,
          runner: "r1",
          attempt: 1,
          state: "done",
          startedAt: T0,
          endedAt: T0 + 5,
        },
      ]);
      assert.deepEqual(
        around.deliveries.map(({ target, status }) => [target, status.state]),
        [[ANN, "waiting"]],
      );
      assert.deepEqual(around.holds, [{ name: "export", until: T0 + HOUR }]);
    });

    rule("contain the decision that moved a conversation away from it", async ({ open, store }) => {
      const { session, conversation } = await open(ANN);
      const asker = { person: session.owner };
      await open(ANN, { fresh: true, now: T0 + 1 });
      const around = requireValue(await store.sessions.getDiagnostics({ asker, session: session.id }));
      assert.deepEqual(around.conversations, []);
      assert.deepEqual(
        around.decisions.map(({ decision, from, conversation: number }) => [decision, from, number]),
        [
          ["new", session.id, conversation.number],
          ["created", undefined, conversation.number],
        ],
      );
    });

    rule("are visible only to those who may see the session", async ({ open, store }) => {
      const [ann, bob] = [await open(ANN), await open(BOB)];
      const asker = { person: bob.session.owner };
      assert.equal(await store.sessions.getDiagnostics({ asker, session: ann.session.id }), undefined);
      const { key } = ann.conversation;
      assert.deepEqual(await store.conversations.findConversationsByKey({ asker, key }), []);
      const everyones = await store.conversations.findConversationsByKey({ asker: EVERYONE, key });
      assert.deepEqual(
        everyones.map(({ number }) => number),
        [ann.conversation.number],
      );
    });
  });

  describe("a key", () => {
    rule("finds every conversation that is printed like this", async ({ open, store }) => {
      const thread = await open(inGroup("ann", { threadId: "2" }), { scope: SCOPE_SHARED });
      const person = await open(inGroup("2"));
      assert.equal(thread.conversation.key, person.conversation.key);
      const { key } = person.conversation;
      const found = await store.conversations.findConversationsByKey({ asker: EVERYONE, key });
      assert.deepEqual(
        found.map(({ number }) => number),
        [thread.conversation.number, person.conversation.number],
      );
      assert.deepEqual(
        await store.conversations.findConversationsByKey({ asker: EVERYONE, key: `${key}:3` }),
        [],
      );
      assert.deepEqual(
        await store.conversations.findConversationsByKey({ asker: EVERYONE, key: "no key" }),
        [],
      );
      const inChat = { person: "nobody", chat: GROUP };
      const shared = await store.conversations.findConversationsByKey({ asker: inChat, key });
      assert.deepEqual(
        shared.map(({ number }) => number),
        [thread.conversation.number],
      );
    });
  });

  describe("the inbox record of a message", () => {
    rule(
      "is found by the seq of its message and by the platform's id",
      async ({ begin, finish, take, store }) => {
        const turn = await begin(ANN, "hello", { messageId: "17" });
        const { session, conversation } = await take(ANN, "and?", { messageId: "18" });
        await finish(turn, "hi");
        const asker = { person: session.owner };
        const place = { platform: "telegram", chatId: "ann" };
        const [done] = await store.inbox.findInbound({ asker, session: turn.session, seq: 1 });
        assert.deepEqual(done && { ...done, turn: done.turn?.number }, {
          ...place,
          messageId: "17",
          at: T0,
          state: "done",
          conversation: conversation.number,
          session: turn.session,
          seq: 1,
          turn: turn.number,
        });
        assert.deepEqual(await store.inbox.findInbound({ asker, ...place, messageId: "17" }), [done]);
        assert.deepEqual(await store.inbox.findInbound({ asker, ...place, messageId: "18" }), [
          {
            ...place,
            messageId: "18",
            at: T0,
            state: "waiting",
            conversation: conversation.number,
            session: session.id,
          },
        ]);
        assert.deepEqual(await store.inbox.findInbound({ asker, ...place, messageId: "19" }), []);
        // The answer is not an inbound message.
        assert.deepEqual(await store.inbox.findInbound({ asker, session: turn.session, seq: 2 }), []);
      },
    );

    rule("is visible only to those who may see the message", async ({ take, open, store }) => {
      const { session } = await take(ANN, "hello", { messageId: "17" });
      const bob = await open(BOB);
      const asker = { person: bob.session.owner };
      assert.deepEqual(
        await store.inbox.findInbound({ asker, platform: "telegram", chatId: "ann", messageId: "17" }),
        [],
      );
      assert.deepEqual(await store.inbox.findInbound({ asker, session: session.id, seq: 1 }), []);
    });
  });
}
