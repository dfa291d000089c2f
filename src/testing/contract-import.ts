import assert from "node:assert/strict";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { ImportedConversation, ImportedSession } from "../core/transfer.ts";
import { emptyUsage } from "../core/usage.ts";
import {
  ANN,
  assertRefused,
  assistant,
  BOB,
  DAY,
  EVERYONE,
  GROUP,
  HOUR,
  inGroup,
  MINUTE,
  readTexts,
  requireValue,
  SCOPE_PER_USER,
  SCOPE_SHARED,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

/** Import of sessions with the chats that continue in them. */
export function defineImportRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a chat that is imported with its session", () => {
    rule(
      "continues in it with its activity time, and the session belongs to its person",
      async ({ store, open, get }) => {
        const session = throwIfRefused(
          await store.sessions.importSession(buildImport("s1", [buildConversation(ANN, T0 - HOUR)])),
        );
        const { conversation, created } = await open(ANN, { reset: { idleBefore: T0 - HOUR } });
        assert.deepEqual([conversation.session, conversation.activeAt, created], ["s1", T0 - HOUR, false]);
        assert.equal(session.owner, conversation.person);
        assert.equal(session.audience, undefined);
        assert.equal((await open(ANN, { reset: { idleBefore: T0 - HOUR + 1 } })).created, true);
        assert.equal((await get("s1")).endReason, "idle");
      },
    );

    rule("gets the next message in that session", async ({ store, take, shows }) => {
      throwIfRefused(
        await store.sessions.importSession(buildImport("s1", [buildConversation(ANN, T0 - HOUR)])),
      );
      await take(ANN, "where were we?");
      await store.runners.recordHeartbeat({
        runner: { id: "r1", host: "x", boot: "x", pid: 1, started: "1" },
        now: T0,
      });
      requireValue(await store.turns.claim({ session: "s1", runner: "r1", take: "one", now: T0 }));
      assert.deepEqual(await shows("s1"), ["question in s1", "answer", "where were we?"]);
    });

    rule("stays shared if it was, and the session belongs to the chat", async ({ store, open }) => {
      const shared = { ...buildConversation(inGroup("ann"), T0), scope: SCOPE_SHARED };
      const session = throwIfRefused(await store.sessions.importSession(buildImport("s1", [shared])));
      assert.deepEqual([session.owner, session.audience], [GROUP, GROUP]);
      assert.equal((await open(inGroup("bob"))).session.id, "s1");
    });

    rule("stays per person in a group, visible only there and to that person", async ({ store, open }) => {
      const session = throwIfRefused(
        await store.sessions.importSession(buildImport("s1", [buildConversation(inGroup("ann"), T0)])),
      );
      const { conversation } = await open(inGroup("ann"));
      assert.deepEqual(
        [conversation.session, session.owner, session.audience],
        ["s1", conversation.person, GROUP],
      );
      assert.notEqual((await open(inGroup("bob"))).session.id, "s1");
    });

    rule("reopens an ended session", async ({ store }) => {
      const ended = { endedAt: T0, endReason: "new" };
      const still = throwIfRefused(
        await store.sessions.importSession({
          ...buildImport("s1", []),
          session: buildOwnedSession("s1"),
          ...ended,
        }),
      );
      assert.deepEqual([still.endedAt, still.endReason], [T0, "new"]);
      const session = throwIfRefused(
        await store.sessions.importSession({ ...buildImport("s2", [buildConversation(ANN, T0)]), ...ended }),
      );
      assert.deepEqual([session.endedAt, session.endReason], [undefined, undefined]);
    });

    rule("keeps its session if it was active here at the same time or later", async ({ store, open }) => {
      const here = await open(ANN, { now: T0 });
      for (const [id, at] of [["s1", T0 - 1] as const, ["s2", T0] as const])
        throwIfRefused(await store.sessions.importSession(buildImport(id, [buildConversation(ANN, at)])));
      const after = await open(ANN);
      assert.deepEqual([after.session.id, after.conversation.activeAt], [here.session.id, T0]);
      assert.equal(after.session.endedAt, undefined);
    });

    rule("moves if it was active there later, and its old session ends", async ({ store, open, get }) => {
      const here = await open(ANN, { now: T0 - DAY });
      throwIfRefused(
        await store.sessions.importSession(buildImport("s1", [buildConversation(ANN, T0 - HOUR)])),
      );
      const { conversation } = await open(ANN);
      assert.deepEqual([conversation.session, conversation.activeAt], ["s1", T0 - HOUR]);
      const left = await get(here.session.id);
      assert.deepEqual([left.endedAt, left.endReason], [T0 - HOUR, "switch"]);
      const [decision] = await store.conversations.listDecisions({
        asker: EVERYONE,
        conversation: conversation.number,
      });
      assert.deepEqual([decision?.decision, decision?.reason], ["switched", "import"]);
    });

    rule("of another person does not continue in it, even if both did before", async ({ store, open }) => {
      const both = [
        buildConversation(ANN, T0),
        buildConversation(BOB, T0 - 1),
        buildConversation(inGroup("ann"), T0 - 2),
      ];
      const session = throwIfRefused(await store.sessions.importSession(buildImport("s1", both)));
      assert.equal((await open(ANN)).session.id, "s1");
      assert.equal((await open(ANN)).conversation.person, session.owner);
      assert.notEqual((await open(BOB)).session.id, "s1");
      assert.notEqual((await open(inGroup("ann"))).session.id, "s1");
    });

    rule("changes no activity time of other conversations", async ({ store, open }) => {
      await open(BOB, { now: T0 - DAY });
      throwIfRefused(await store.sessions.importSession(buildImport("s1", [buildConversation(ANN, T0)])));
      const [bobs] = await store.conversations.findConversations({ asker: EVERYONE, source: BOB });
      assert.equal(bobs?.activeAt, T0 - DAY);
    });
  });

  describe("a session that is imported without a chat", () => {
    rule(
      "belongs to the person of its account, also if that account appears later",
      async ({ store, open }) => {
        const account = { platform: "telegram", userId: "ann" };
        const session = throwIfRefused(
          await store.sessions.importSession({ ...buildImport("s1", []), account, platform: "telegram" }),
        );
        assert.equal((await open(ANN)).session.owner, session.owner);
        assert.notEqual((await open(BOB)).session.owner, session.owner);
        const { items } = await store.sessions.querySessions({ asker: EVERYONE, platform: "telegram" });
        assert.ok(items.some(({ id }) => id === "s1"));
        const own = { ...buildImport("s2", []), account: { platform: "local", userId: "me" } };
        assert.equal(throwIfRefused(await store.sessions.importSession(own)).owner, "owner");
      },
    );

    rule("is refused without an owner, account or chat", async ({ store }) => {
      assertRefused(await store.sessions.importSession(buildImport("s1", [])), "invalid_input");
      assert.equal((await store.sessions.getStats({ asker: EVERYONE })).sessions, 0);
    });
  });

  describe("more messages of an imported session", () => {
    rule("follow the imported ones, and change only their own times", async (scene) => {
      const { store } = scene;
      throwIfRefused(
        await store.sessions.importSession(buildImport("s1", [buildConversation(ANN, T0 - DAY)])),
      );
      const usage = { ...emptyUsage(), inputTokens: 9, totalTokens: 9 };
      const messages = [{ ...user("more"), at: T0 - HOUR }];
      const more = {
        session: "s1",
        after: 2,
        messages,
        blobs: [],
        usage,
        title: "Plan",
        profile: "main",
        now: T0,
      };
      const session = throwIfRefused(await store.sessions.importMessages(more));
      assert.deepEqual([session.messageCount, session.humanCount, session.lastAt], [3, 2, T0 - HOUR]);
      assert.deepEqual([session.usage, session.title], [usage, "Plan"]);
      assert.deepEqual(await scene.shows("s1"), ["question in s1", "answer", "more"]);
      const [still] = await store.conversations.findConversations({ asker: EVERYONE, source: ANN });
      assert.equal(still?.activeAt, T0 - DAY);
      const conversations = [buildConversation(ANN, T0 - MINUTE)];
      throwIfRefused(
        await store.sessions.importMessages({
          ...more,
          after: 3,
          messages: [],
          title: "Other",
          conversations,
        }),
      );
      const [moved] = await store.conversations.findConversations({ asker: EVERYONE, source: ANN });
      assert.equal(moved?.activeAt, T0 - MINUTE);
      assert.equal((await scene.get("s1")).title, "Plan");
      assert.deepEqual(
        readTexts(await store.messages.listMessages({ asker: EVERYONE, session: "s1" })).length,
        3,
      );
    });

    rule(
      "are refused if the session has other messages or was removed, and nothing is stored",
      async ({ store, say, get }) => {
        throwIfRefused(await store.sessions.importSession(buildImport("s1", [buildConversation(ANN, T0)])));
        await say("s1", user("said here"));
        const messages = [{ ...user("more"), at: T0 }];
        const more = { session: "s1", after: 2, messages, blobs: [], profile: "main", now: T0 };
        assertRefused(await store.sessions.importMessages(more), "invalid_input");
        assert.equal((await get("s1")).messageCount, 3);
        assertRefused(await store.sessions.importMessages({ ...more, session: "s9" }), "not_found");
      },
    );
  });
}

function buildConversation(source: Source, activeAt: number): ImportedConversation {
  return { source, scope: SCOPE_PER_USER, activeAt };
}

function buildOwnedSession(id: string) {
  return { id, kind: "chat" as const, owner: "p_ann" };
}

function buildImport(
  id: string,
  conversations: readonly ImportedConversation[],
): ImportedSession & { readonly profile: string } {
  return {
    profile: "main",
    session: { id, kind: "chat" },
    conversations,
    usage: emptyUsage(),
    createdAt: T0 - 2 * DAY,
    messages: [
      { ...user(`question in ${id}`), at: T0 - 2 * DAY },
      { ...assistant("answer"), at: T0 - 2 * DAY },
    ],
    blobs: [],
    shows: [{ from: 1, to: 2 }],
    hidden: [],
    now: T0,
  };
}
