import assert from "node:assert/strict";
import type { Source } from "../core/source.ts";
import {
  ANN,
  assertRefused,
  BOB,
  EVERYONE,
  inGroup,
  requireValue,
  SCOPE_PER_USER,
  SCOPE_SHARED,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

/** The conversation of a source. */
export function defineRoutingRules({ describe }: TestApi, rule: StoreRule): void {
  describe("finding the conversation", () => {
    rule("creates one conversation and one session at first contact", async ({ open, store }) => {
      const first = await open(ANN);
      assert.equal(first.created, true);
      assert.equal(first.conversation.session, first.session.id);
      assert.equal(first.conversation.activeAt, T0);
      assert.equal(first.session.createdAt, T0);
      assert.equal(first.session.kind, "chat");
      assert.equal(first.session.profile, "main");
      assert.match(first.session.handle, /^[a-z][a-z2-9]{2,}$/);
      const again = await open(ANN, { now: T0 + 1 });
      assert.equal(again.created, false);
      assert.equal(again.session.id, first.session.id);
      assert.equal(again.conversation.number, first.conversation.number);
      assert.equal((await store.sessions.querySessions({ asker: EVERYONE })).items.length, 1);
    });

    rule("gives concurrent callers the same conversation", async ({ open, store }) => {
      const opened = await Promise.all(Array.from({ length: 20 }, () => open(ANN)));
      assert.equal(new Set(opened.map((it) => it.session.id)).size, 1);
      assert.equal(new Set(opened.map((it) => it.conversation.number)).size, 1);
      assert.equal(opened.filter((it) => it.created).length, 1);
      assert.equal((await store.sessions.querySessions({ asker: EVERYONE })).items.length, 1);
    });

    rule("keeps the direct chats of two people apart", async ({ open }) => {
      const [ann, bob] = [await open(ANN), await open(BOB)];
      assert.notEqual(ann.session.id, bob.session.id);
      assert.notEqual(ann.session.owner, bob.session.owner);
      assert.equal(ann.conversation.key, "agent:main:telegram:dm:ann");
    });

    rule("gives each person in a group a conversation of their own", async ({ open }) => {
      const [ann, bob] = [await open(inGroup("ann")), await open(inGroup("bob"))];
      assert.notEqual(ann.session.id, bob.session.id);
      assert.equal(ann.conversation.key, "agent:main:telegram:group:-100:ann");
      assert.equal(bob.conversation.key, "agent:main:telegram:group:-100:bob");
    });

    rule("gives a group one conversation when the settings say so", async ({ open }) => {
      const [ann, bob] = [
        await open(inGroup("ann"), { scope: SCOPE_SHARED }),
        await open(inGroup("bob"), { scope: SCOPE_SHARED }),
      ];
      assert.equal(ann.session.id, bob.session.id);
      assert.equal(bob.conversation.key, "agent:main:telegram:group:-100");
      assert.equal(bob.conversation.person, undefined);
    });

    rule("gives a thread one conversation when only threads are shared", async ({ open }) => {
      const scope = { groupsPerUser: true, threadsPerUser: false };
      const thread = { threadId: "7" };
      const [ann, bob] = [
        await open(inGroup("ann", thread), { scope }),
        await open(inGroup("bob", thread), { scope }),
      ];
      assert.equal(ann.session.id, bob.session.id);
      const outside = await open(inGroup("bob"), { scope });
      assert.notEqual(outside.session.id, bob.session.id);
    });

    rule("keeps sources apart whose names look alike", async ({ open }) => {
      const chat = { platform: "signal", chatType: "group" };
      const sources: Source[] = [
        { ...chat, chatId: "1", threadId: "2" },
        { ...chat, chatId: "1", userId: "2" },
        { ...chat, chatId: "1:2" },
        { ...chat, chatId: "1%3A2" },
        { ...chat, chatId: "1", userIdAlt: "2:" },
        { ...chat, platform: "telegram", chatId: "1", threadId: "2" },
        { ...chat, chatType: "channel", chatId: "1", threadId: "2" },
      ];
      const opened = [];
      for (const source of sources) opened.push(await open(source));
      assert.equal(new Set(opened.map((it) => it.session.id)).size, sources.length);
      const again = [];
      for (const source of sources) again.push(await open(source));
      assert.deepEqual(
        again.map((it) => it.session.id),
        opened.map((it) => it.session.id),
      );
    });

    rule("keeps the profiles of one home apart", async ({ open }) => {
      const [main, work] = [await open(ANN), await open(ANN, { profile: "work" })];
      assert.notEqual(main.session.id, work.session.id);
      assert.equal(main.session.owner, work.session.owner);
      assert.equal(work.conversation.key, "agent:work:telegram:dm:ann");
    });

    rule("stores the newest name and topic of the chat", async ({ open, get }) => {
      const before = inGroup("ann", { chatName: "Old name" });
      const after = inGroup("ann", { chatName: "New name", chatTopic: "Horses" });
      await open(before);
      const opened = await open(after, { now: T0 + 1 });
      assert.equal(opened.session.displayName, "New name");
      assert.deepEqual(opened.session.origin, after);
      assert.deepEqual((await get(opened.session.id)).origin, after);
    });

    rule("does not change a conversation that is only looked up", async ({ open, store }) => {
      const { conversation, session } = await open(ANN);
      const asker = { person: session.owner };
      const [found] = await store.conversations.findConversations({ asker, source: ANN });
      assert.deepEqual(found, conversation);
      assert.deepEqual(await store.conversations.findConversations({ asker, session: session.id }), [
        conversation,
      ]);
      assert.deepEqual(await store.conversations.findConversations({ asker, source: BOB }), []);
    });
  });

  describe("settings that change later", () => {
    rule("keeps the scope rules of each conversation", async ({ open }) => {
      const shared = await open(inGroup("ann"), { scope: SCOPE_SHARED });
      const later = await open(inGroup("ann"), { scope: SCOPE_PER_USER });
      assert.equal(later.session.id, shared.session.id);
      assert.equal(later.usesOldScope, true);
      assert.deepEqual(later.conversation.scope, SCOPE_SHARED);
      const elsewhere = await open(inGroup("ann", { chatId: "-200" }), { scope: SCOPE_PER_USER });
      assert.equal(elsewhere.usesOldScope, false);
      assert.equal(elsewhere.conversation.key, "agent:main:telegram:group:-200:ann");
    });

    rule("keeps a person's own conversation when groups become shared", async ({ open }) => {
      const own = await open(inGroup("ann"), { scope: SCOPE_PER_USER });
      const later = await open(inGroup("ann"), { scope: SCOPE_SHARED });
      assert.equal(later.session.id, own.session.id);
      assert.equal(later.usesOldScope, true);
      const bob = await open(inGroup("bob"), { scope: SCOPE_SHARED });
      const carl = await open(inGroup("carl"), { scope: SCOPE_SHARED });
      assert.notEqual(bob.session.id, own.session.id);
      assert.equal(carl.session.id, bob.session.id);
      assert.equal(bob.usesOldScope, false);
    });

    rule("never assigns later senders to the conversation of a sender without an id", async ({ open }) => {
      const { userId: _id, userName: _name, ...nobody } = inGroup("x");
      const anonymous = await open(nobody);
      const ann = await open(inGroup("ann"));
      assert.notEqual(ann.session.id, anonymous.session.id);
      assert.equal((await open(nobody)).session.id, anonymous.session.id);
      // The group becomes shared: people without a conversation get the common one.
      const bob = await open(inGroup("bob"), { scope: SCOPE_SHARED });
      assert.notEqual(bob.session.id, ann.session.id);
      assert.equal((await open(inGroup("ann"), { scope: SCOPE_SHARED })).session.id, ann.session.id);
      assert.equal((await open(inGroup("carl"), { scope: SCOPE_SHARED })).session.id, bob.session.id);
    });
  });

  describe("the person of an account", () => {
    const both = { userId: "+491", userIdAlt: "uuid-1" };
    const signal = (ids: Partial<Source>, chatId = "g1"): Source => ({
      platform: "signal",
      chatType: "group",
      chatId,
      ...ids,
    });

    rule("finds an account by either id after both came together", async ({ open }) => {
      const first = await open(signal(both));
      const byNumber = await open(signal({ userId: "+491" }));
      const byUuid = await open(signal({ userIdAlt: "uuid-1" }));
      assert.equal(byNumber.session.id, first.session.id);
      assert.equal(byUuid.session.id, first.session.id);
    });

    rule("learns the second id of an account", async ({ open }) => {
      const first = await open(signal({ userId: "+491" }));
      assert.equal((await open(signal(both))).session.id, first.session.id);
      assert.equal((await open(signal({ userIdAlt: "uuid-1" }))).session.id, first.session.id);
    });

    rule(
      "joins two accounts that turn out to be one, and keeps the conversation with later activity",
      async ({ open, store, get }) => {
        const older = await open(signal({ userId: "+491" }));
        const newer = await open(signal({ userIdAlt: "uuid-1" }), { now: T0 + 1 });
        const elsewhere = await open(signal({ userIdAlt: "uuid-1" }, "g2"), { now: T0 + 1 });
        assert.notEqual(older.session.owner, newer.session.owner);
        const joined = await open(signal(both), { now: T0 + 2 });
        assert.equal(joined.session.id, newer.session.id);
        assert.equal((await open(signal({ userId: "+491" }))).session.id, newer.session.id);
        assert.equal((await open(signal({ userId: "+491" }, "g2"))).session.id, elsewhere.session.id);
        const left = await get(older.session.id);
        assert.equal(left.endReason, "merged");
        assert.equal(left.owner, joined.session.owner);
        const [decision] = await store.conversations.listDecisions({
          asker: EVERYONE,
          conversation: joined.conversation.number,
        });
        assert.equal(decision?.decision, "merged");
        const asker = { person: joined.session.owner, chat: "chat:signal:g1" };
        const conversation = joined.conversation.number;
        const back = await store.conversations.switchTo({
          asker,
          conversation,
          session: older.session.id,
          now: T0 + 3,
        });
        assert.equal("session" in back && back.session.id, older.session.id);
      },
    );

    rule(
      "keeps a turn and pending messages when accounts are joined",
      async ({ open, begin, take, finish, claim, store }) => {
        const turn = await begin(signal({ userId: "+491" }), "one");
        await take(signal({ userId: "+491" }), "two");
        await open(signal({ userIdAlt: "uuid-1" }), { now: T0 + 1 });
        const joined = await open(signal(both), { now: T0 + 2 });
        await finish(turn, "answer", { now: T0 + 3 });
        const [conversation] = await store.conversations.findConversations({
          asker: EVERYONE,
          source: signal(both),
        });
        assert.equal(conversation?.number, joined.conversation.number);
        assert.equal(conversation?.activeAt, T0 + 3);
        const next = requireValue(await claim(joined.session.id));
        assert.equal(next.session, joined.session.id);
        assert.equal(next.inputs.length, 1);
      },
    );

    rule(
      "follows an account to its new number, and gives the next holder of the old number no access",
      async ({ open }) => {
        const first = await open(signal(both));
        const moved = await open(signal({ userId: "+492", userIdAlt: "uuid-1" }));
        assert.equal(moved.session.id, first.session.id);
        assert.equal((await open(signal({ userId: "+492" }))).session.id, first.session.id);
        const stranger = await open(signal({ userId: "+491", userIdAlt: "uuid-2" }));
        assert.notEqual(stranger.session.id, first.session.id);
        assert.notEqual(stranger.session.owner, first.session.owner);
        // The number moves to another account while the old account still has it.
        const third = await open(signal({ userId: "+492", userIdAlt: "uuid-3" }));
        assert.notEqual(third.session.owner, first.session.owner);
        assert.equal((await open(signal({ userIdAlt: "uuid-1" }))).session.id, first.session.id);
        assert.equal((await open(signal({ userId: "+492" }))).session.id, third.session.id);
      },
    );

    rule("uses the configured person", async ({ open, store }) => {
      const ann = await open(ANN, { person: "p_ann" });
      assert.equal(ann.session.owner, "p_ann");
      assert.equal(ann.conversation.person, "p_ann");
      const onSignal = await open({ ...ANN, platform: "signal" }, { person: "p_ann" });
      assert.equal(onSignal.session.owner, "p_ann");
      assert.equal((await store.sessions.querySessions({ asker: { person: "p_ann" } })).items.length, 2);
    });

    rule("gives the terminal, the web page and the editor to the owner", async ({ open }) => {
      for (const platform of ["local", "web", "acp"]) {
        const opened = await open({ platform, chatType: "dm", chatId: "here" });
        assert.equal(opened.session.owner, "owner");
        assert.equal(opened.conversation.person, "owner");
      }
    });

    rule("treats a direct chat without a sender as a separate person", async ({ open }) => {
      const chat = { platform: "telegram", chatType: "dm", chatId: "42" };
      const first = await open(chat);
      assert.match(first.session.owner, /^p_/);
      assert.equal((await open({ ...chat, userId: "42" })).session.owner, first.session.owner);
    });

    rule("gives sessions that a chat shares to the chat", async ({ open, store }) => {
      const { session, conversation } = await open(inGroup("ann"), { scope: SCOPE_SHARED });
      assert.equal(session.owner, "chat:telegram:-100");
      assert.equal(session.audience, "chat:telegram:-100");
      assertRefused(
        await store.conversations.reset({
          asker: { person: "p_stranger" },
          conversation: conversation.number,
          newSession: { id: "s2", kind: "chat" },
          now: T0,
        }),
        "not_found",
      );
    });
  });
}
