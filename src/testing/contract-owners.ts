import assert from "node:assert/strict";
import { textPart } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  BOB,
  DAY,
  EVERYONE,
  GROUP,
  inGroup,
  readTexts,
  requireValue,
  SCOPE_SHARED,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const ann: Asker = { person: "p_ann" };
const annInGroup: Asker = { person: "p_ann", chat: GROUP };
const bob: Asker = { person: "p_bob" };

/** Ownership: a chat sees only what all its readers may see. */
export function defineOwnerRules({ describe }: TestApi, rule: StoreRule): void {
  describe("visibility", () => {
    rule("shows people their own sessions of all chats", async (scene) => {
      const { private: own, group } = await createTwoSessions(scene);
      const seen = async (asker: Asker, session: string) =>
        (await scene.store.messages.readHistory({ asker, session })) !== undefined;
      assert.deepEqual([await seen(ann, own), await seen(ann, group)], [true, true]);
      assert.deepEqual([await seen(annInGroup, own), await seen(annInGroup, group)], [false, true]);
      assert.deepEqual([await seen(bob, own), await seen(bob, group)], [false, false]);
      const bobThere = { person: "p_bob", chat: GROUP };
      assert.equal(await seen(bobThere, group), false, "it belongs to Ann, although he could read it");
      assert.deepEqual([await seen(EVERYONE, own), await seen(EVERYONE, group)], [true, true]);
    });

    rule("shows shared sessions of a chat to everybody there, and only there", async ({ talk, store }) => {
      const { id } = await talk(inGroup("ann"), "hello all", "hi all", {
        scope: SCOPE_SHARED,
        person: "p_ann",
      });
      const seen = async (asker: Asker) =>
        readTexts((await store.messages.readHistory({ asker, session: id })) ?? []).length;
      assert.equal(await seen(annInGroup), 2);
      assert.equal(await seen({ person: "p_bob", chat: GROUP }), 2);
      assert.equal(await seen(ann), 0);
      assert.equal(await seen({ person: "p_ann", chat: "chat:telegram:-200" }), 0);
    });

    rule(
      "hides the existence of a session from people who may not see it",
      async ({ create, store, get }) => {
        const { id } = await create("p_ann", ["hello"], { title: "Plan" });
        const ask = { asker: bob, session: id };
        const messages = [user("mine now")];
        const newSession = { id: "copy", kind: "chat" as const };
        for (const refused of [
          await store.messages.append({ ...ask, messages, now: T0 }),
          await store.sessions.setTitle({ ...ask, title: "Mine" }),
          await store.sessions.change({ ...ask, change: { model: "x", ended: true }, now: T0 }),
          await store.sessions.recordUsage({ ...ask, purpose: "answer", usage: { inputTokens: 1 }, now: T0 }),
          await store.sessions.hold({ ...ask, name: "x", until: T0 }),
          await store.sessions.fork({ ...ask, newSession, now: T0 }),
          await store.messages.changeView({ ...ask, kind: "undo", now: T0 }),
        ]) {
          assert.deepEqual(refused, await store.sessions.setTitle({ asker: bob, session: "nobody" }));
        }
        assert.equal(await store.sessions.release({ ...ask, name: "x" }), false);
        assert.equal(await store.sessions.remove({ ...ask, now: T0 }), false);
        assert.deepEqual(await store.messages.listVersions(ask), []);
        const session = await get(id);
        assert.deepEqual([session.title, session.messageCount, session.endedAt], ["Plan", 1, undefined]);
      },
    );

    rule("shows conversations and their decisions to the people in the chat", async ({ open, store }) => {
      const opened = await open(ANN, { person: "p_ann" });
      const { number } = opened.conversation;
      const seen = async (asker: Asker) => [
        (await store.conversations.findConversations({ asker, source: ANN })).length,
        (await store.conversations.findConversations({ asker, session: opened.session.id })).length,
        (await store.conversations.listDecisions({ asker, conversation: number })).length,
      ];
      assert.deepEqual(await seen(ann), [1, 1, 1]);
      assert.deepEqual(await seen(EVERYONE), [1, 1, 1]);
      assert.deepEqual(await seen(bob), [0, 0, 0]);
      assert.deepEqual(await seen(annInGroup), [0, 0, 0], "a group does not see a direct chat");
      const shared = await open(inGroup("ann"), { scope: SCOPE_SHARED });
      const there = { asker: { person: "p_bob", chat: GROUP }, conversation: shared.conversation.number };
      assert.equal((await store.conversations.listDecisions(there)).length, 1);
      assert.equal((await store.conversations.listDecisions({ ...there, asker: ann })).length, 0);
    });
  });

  describe("resuming a session", () => {
    rule("makes it the current session, and records the decision", async ({ open, create, store, get }) => {
      const { conversation, session } = await open(ANN, { person: "p_ann" });
      const old = await create("p_ann", ["long ago"]);
      const ask = { asker: ann, session: old.id, conversation: conversation.number };
      const switched = throwIfRefused(await store.conversations.switchTo({ ...ask, now: T0 + 1 }));
      assert.deepEqual([switched.session.id, switched.created], [old.id, false]);
      assert.deepEqual([switched.conversation.session, switched.conversation.activeAt], [old.id, T0 + 1]);
      assert.equal((await open(ANN, { now: T0 + 2 })).session.id, old.id);
      assert.equal((await get(session.id)).endReason, "switch");
      const [decision] = await store.conversations.listDecisions({
        asker: ann,
        conversation: conversation.number,
      });
      assert.deepEqual([decision?.decision, decision?.from, decision?.to], ["switched", session.id, old.id]);
      const again = throwIfRefused(await store.conversations.switchTo({ ...ask, now: T0 + 3 }));
      assert.equal(again.session.id, old.id);
      assert.equal((await get(old.id)).endedAt, undefined);
    });

    rule(
      "is refused for another person's session, and for one that does not exist",
      async ({ open, create, store }) => {
        const { conversation } = await open(ANN, { person: "p_ann" });
        const theirs = await create("p_bob", ["secret"]);
        const to = (asker: Asker, session: string, number = conversation.number) =>
          store.conversations.switchTo({ asker, session, conversation: number, now: T0 });
        const refusal = assertRefused(await to(ann, theirs.id), "not_allowed");
        assert.ok(!refusal.reason.includes("secret"));
        assertRefused(await to(ann, "nobody"), "not_found");
        assertRefused(await to(ann, theirs.id, 999), "not_found");
        assertRefused(await to(bob, theirs.id), "not_found");
        await store.sessions.remove({ asker: bob, session: theirs.id, now: T0 });
        assertRefused(await to(ann, theirs.id), "not_found");
      },
    );

    rule("that is private is refused in a group, with instructions", async (scene) => {
      const { private: own, conversation } = await createTwoSessions(scene);
      const refusal = assertRefused(
        await scene.store.conversations.switchTo({ asker: annInGroup, session: own, conversation, now: T0 }),
        "not_allowed",
      );
      assert.match(refusal.reason, /direct chat/);
      assertRefused(
        await scene.store.conversations.switchTo({ asker: EVERYONE, session: own, conversation, now: T0 }),
        "not_allowed",
      );
    });

    rule("of one's own from a group is possible in the group and in a direct chat", async (scene) => {
      const { open, store, talk, begin } = scene;
      const { group, conversation } = await createTwoSessions(scene);
      const other = await open(inGroup("ann"), { person: "p_ann", fresh: true });
      const back = await store.conversations.switchTo({
        asker: annInGroup,
        session: group,
        conversation,
        now: T0,
      });
      assert.ok(!isRefused(back));
      assert.equal(back.session.audience, GROUP);
      const direct = await open(ANN, { person: "p_ann" });
      const taken = throwIfRefused(
        await store.conversations.switchTo({
          asker: ann,
          session: group,
          conversation: direct.conversation.number,
          now: T0,
        }),
      );
      assert.equal(taken.session.audience, undefined, "the group does not see later messages");
      await talk(ANN, "just between us", "of course");
      assert.equal(await store.messages.readHistory({ asker: annInGroup, session: group }), undefined);
      assert.deepEqual(await store.messages.searchMessages({ asker: annInGroup, text: "between" }), []);
      assertRefused(
        await store.conversations.switchTo({ asker: annInGroup, session: group, conversation, now: T0 }),
        "not_allowed",
      );
      // The group's conversation still pointed to it and continues in a new session.
      const turn = await begin(inGroup("ann"), "and here?");
      assert.notEqual(turn.session, group);
      assert.notEqual(turn.session, other.session.id);
    });

    rule("in a direct chat leaves the pending messages of the group to the group", async (scene) => {
      const { open, begin, take, finish, claim, store, beat } = scene;
      await beat("r1");
      const there = inGroup("ann");
      const turn = await begin(there, "first", { person: "p_ann" });
      await take(there, "second, for all of you", { person: "p_ann" });
      const { number } = (await open(ANN, { person: "p_ann" })).conversation;
      const move = { asker: ann, session: turn.session, conversation: number, now: T0 };
      assertRefused(await store.conversations.switchTo(move), "session_busy");
      await finish(turn, "an answer");
      throwIfRefused(await store.conversations.switchTo(move));
      assert.equal(
        await claim(turn.session),
        undefined,
        "no message of the group is pending in the private session",
      );
      const [left] = await store.conversations.findConversations({ asker: EVERYONE, source: there });
      const next = requireValue(await claim(requireValue(left).session));
      assert.deepEqual([next.session !== turn.session, next.target.chatId], [true, there.chatId]);
      assert.deepEqual(readTexts(await store.messages.listMessages({ asker: ann, session: turn.session })), [
        "first",
        "an answer",
      ]);
    });

    rule("in a direct chat leaves a fork in the group its messages and bytes", async (scene) => {
      const { open, fork, store } = scene;
      const { group } = await createTwoSessions(scene);
      const bytes = new Uint8Array([1, 2, 3]);
      const hash = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81";
      const picture = { type: "image", blob: hash, mimeType: "image/png", size: 3 } as const;
      const messages = [{ role: "user", parts: [textPart("a lighthouse"), picture] } as const];
      throwIfRefused(
        await store.messages.append({
          asker: ann,
          session: group,
          messages,
          blobs: [{ hash, bytes }],
          now: T0,
        }),
      );
      const copy = await fork(group);
      const { number } = (await open(ANN, { person: "p_ann" })).conversation;
      throwIfRefused(
        await store.conversations.switchTo({ asker: ann, session: group, conversation: number, now: T0 }),
      );
      await scene.talk(ANN, "just between us", "of course");
      const found = await store.messages.searchMessages({ asker: annInGroup, text: "lighthouse" });
      assert.equal(found[0]?.after, undefined, "the next message is not visible to the group");
      assert.deepEqual(
        found.map((hit) => hit.session),
        [copy.id],
      );
      assert.deepEqual(await store.messages.readBlob({ asker: annInGroup, hash }), bytes);
    });

    rule(
      "by its fork never shows a chat content that only the owner of the original may see",
      async (scene) => {
        const { fork, store, say } = scene;
        const { group, conversation } = await createTwoSessions(scene);
        await say(group, user("between us now"));
        const [early, late] = [await fork(group, { keep: 2 }), await fork(group)];
        const direct = await scene.open(ANN, { person: "p_ann" });
        const number = direct.conversation.number;
        throwIfRefused(
          await store.conversations.switchTo({ asker: ann, session: late.id, conversation: number, now: T0 }),
        );
        throwIfRefused(
          await store.conversations.switchTo({ asker: annInGroup, session: early.id, conversation, now: T0 }),
        );
        assert.equal(await store.sessions.remove({ asker: ann, session: group, now: T0 }), true);
        const inChat = await store.messages.searchMessages({
          asker: annInGroup,
          text: "between",
          undone: true,
        });
        assert.deepEqual(inChat, []);
        const alone = await store.messages.searchMessages({ asker: ann, text: "between" });
        assert.deepEqual(
          alone.map((hit) => hit.session),
          [late.id],
        );
      },
    );
  });

  describe("the fields of a session", () => {
    rule("can be set by its owner and cleared with null", async ({ create, store }) => {
      const { id } = await create("p_ann", [], { cwd: "/a", model: "m", config: { a: 1 } });
      const ask = { asker: ann, session: id, now: T0 + 1 };
      const changed = throwIfRefused(
        await store.sessions.change({
          ...ask,
          change: { cwd: "/b", provider: "p", baseUrl: "http://x", config: { b: [2] } },
        }),
      );
      assert.deepEqual([changed.cwd, changed.usage.model, changed.config], ["/b", "m", { b: [2] }]);
      assert.deepEqual([changed.usage.provider, changed.usage.baseUrl], ["p", "http://x"]);
      const cleared = throwIfRefused(
        await store.sessions.change({
          ...ask,
          change: { cwd: null, model: null, provider: null, baseUrl: null, config: null },
        }),
      );
      assert.deepEqual(
        [cleared.cwd, cleared.usage.model, cleared.usage.provider, cleared.usage.baseUrl, cleared.config],
        [undefined, undefined, undefined, undefined, undefined],
      );
      const ended = throwIfRefused(await store.sessions.change({ ...ask, change: { ended: true } }));
      assert.deepEqual([ended.endedAt, ended.endReason], [T0 + 1, "closed"]);
      const open = throwIfRefused(await store.sessions.change({ ...ask, change: { ended: false } }));
      assert.deepEqual([open.endedAt, open.endReason], [undefined, undefined]);
    });

    rule("contain the reason of its end, until it is reopened", async ({ create, store, get }) => {
      const { id } = await create("p_ann", ["one"]);
      const change = async (ended: boolean | string, now: number): Promise<void> => {
        throwIfRefused(await store.sessions.change({ asker: ann, session: id, change: { ended }, now }));
      };
      const end = async () => {
        const { endedAt, endReason } = await get(id);
        return [endedAt, endReason];
      };
      await change("the job is done", T0 + 1);
      assert.deepEqual(await end(), [T0 + 1, "the job is done"]);
      await change("too late", T0 + 2);
      assert.deepEqual(await end(), [T0 + 1, "the job is done"], "the first reason counts");
      await change(false, T0 + 3);
      assert.deepEqual(await end(), [undefined, undefined]);
      await change("done again", T0 + 4);
      assert.deepEqual(await end(), [T0 + 4, "done again"]);
    });

    rule("keep the first reason and time if it is ended twice", async ({ open, store, get }) => {
      const { session, conversation } = await open(ANN);
      const ask = { asker: { person: session.owner }, session: session.id };
      for (const now of [T0 + 1, T0 + 2])
        throwIfRefused(await store.sessions.change({ ...ask, change: { ended: true }, now }));
      const ended = async () => {
        const { endedAt, endReason } = await get(session.id);
        return [endedAt, endReason];
      };
      assert.deepEqual(await ended(), [T0 + 1, "closed"]);
      // A conversation still points to it, so it is not pruned.
      const prune = { asker: EVERYONE, before: T0 + DAY, dryRun: true, now: T0 + DAY };
      assert.deepEqual(await store.sessions.prune(prune), []);
      const newSession = { id: "next", kind: "chat" } as const;
      throwIfRefused(
        await store.conversations.reset({
          asker: EVERYONE,
          conversation: conversation.number,
          newSession,
          now: T0 + 3,
        }),
      );
      assert.deepEqual(await ended(), [T0 + 1, "closed"]);
      assert.deepEqual(
        (await store.sessions.prune(prune)).map(({ id }) => id),
        [session.id],
      );
    });

    rule("count tokens and cost", async ({ create, store }) => {
      const { id, usage } = await create("p_ann");
      assert.deepEqual([usage.totalTokens, usage.lastPromptTokens, usage.costStatus], [0, 0, "unknown"]);
      const record = async (delta: Parameters<typeof store.sessions.recordUsage>[0]["usage"]) =>
        throwIfRefused(
          await store.sessions.recordUsage({
            asker: ann,
            session: id,
            purpose: "answer",
            usage: delta,
            now: T0,
          }),
        ).usage;
      await record({
        inputTokens: 200,
        outputTokens: 100,
        lastPromptTokens: 85_000,
        model: "m1",
        costUsd: 0.5,
      });
      const two = await record({
        inputTokens: 100,
        outputTokens: 50,
        cacheReadTokens: 7,
        cacheWriteTokens: 3,
        reasoningTokens: 9,
        costUsd: 0.25,
        costStatus: "estimated",
        costSource: "table",
        model: "m2",
        provider: "p",
        baseUrl: "http://x",
      });
      assert.deepEqual(two, {
        inputTokens: 300,
        outputTokens: 150,
        cacheReadTokens: 7,
        cacheWriteTokens: 3,
        reasoningTokens: 9,
        totalTokens: 460,
        lastPromptTokens: 85_000,
        costUsd: 0.75,
        costStatus: "estimated",
        costSource: "table",
        model: "m1",
        provider: "p",
        baseUrl: "http://x",
      });
      const three = await record({ lastPromptTokens: 0, costStatus: "" });
      assert.deepEqual([three.lastPromptTokens, three.totalTokens, three.costStatus], [0, 460, "estimated"]);
      await assert.rejects(record({ inputTokens: -1 }), { code: "invalid_input" });
      assert.deepEqual(await record({}), three);
    });

    rule("add up with concurrent reports", async ({ create, store, get }) => {
      const { id } = await create("p_ann");
      await Promise.all(
        Array.from({ length: 50 }, () =>
          store.sessions.recordUsage({
            asker: ann,
            session: id,
            purpose: "answer",
            usage: { inputTokens: 2, outputTokens: 1 },
            now: T0,
          }),
        ),
      );
      assert.equal((await get(id)).usage.totalTokens, 150);
    });

    rule("contain the owner in every result", async ({ talk, store, get }) => {
      const session = await talk(BOB, "hello", "hi", { person: "p_bob" });
      const [listed] = (await store.sessions.querySessions({ asker: bob })).items;
      const { preview, totalCount, ...facts } = requireValue(listed);
      assert.deepEqual([preview, totalCount], ["hello", 2]);
      assert.deepEqual(facts, session);
      assert.deepEqual(await get(session.handle), session);
      assert.equal(session.owner, "p_bob");
    });
  });
}

/** Ann's private session, and her session in a group with its conversation. */
async function createTwoSessions({ create, talk, store }: Scene) {
  const own = await create("p_ann", ["private words"]);
  const said = await talk(inGroup("ann"), "public words", "answered", { person: "p_ann" });
  const [conversation] = await store.conversations.findConversations({ asker: EVERYONE, session: said.id });
  assert.equal(said.audience, GROUP);
  return { private: own.id, group: said.id, conversation: requireValue(conversation).number };
}
