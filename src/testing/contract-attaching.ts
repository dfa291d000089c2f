import assert from "node:assert/strict";
import { type Asker, OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import {
  ANN,
  assertRefused,
  BOB,
  EVERYONE,
  HOUR,
  inGroup,
  requireValue,
  SCOPE_PER_USER,
  SCOPE_SHARED,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const ONE = { runner: "r1", take: "one" } as const;
const owner: Asker = { person: OWNER };

/** Continuing an existing session in another chat. */
export function defineAttachingRules({ describe }: TestApi, rule: StoreRule): void {
  describe("attaching a chat to a session", () => {
    rule("creates the conversation there, with this session as the current one", async (scene) => {
      const { id } = await scene.create(OWNER, ["hello", "hi"]);
      const opened = throwIfRefused(await attach(scene, id, { now: T0 + 5 }));
      assert.deepEqual([opened.session.id, opened.created, opened.usesOldScope], [id, false, false]);
      const { number, person, session, activeAt, scope } = opened.conversation;
      assert.deepEqual([person, session, activeAt, scope], [OWNER, id, T0 + 5, SCOPE_PER_USER]);
      assert.equal(opened.conversation.key, `agent:main:acp:dm:${id}`);
      await scene.reopen();
      const decisions = await scene.store.conversations.listDecisions({
        asker: EVERYONE,
        conversation: number,
      });
      assert.deepEqual(decisions, [{ at: T0 + 5, decision: "created", to: id }]);
      const turn = await scene.begin(editor(id), "go on");
      assert.deepEqual([turn.session, turn.conversation], [id, number]);
      assert.deepEqual(await scene.shows(id), ["hello", "hi", "go on"]);
    });

    rule("changes nothing if the session is already current", async (scene) => {
      const { id } = await scene.create(OWNER, ["hello"]);
      const first = throwIfRefused(await attach(scene, id));
      const again = throwIfRefused(await attach(scene, id, { now: T0 + HOUR }));
      assert.deepEqual(again, first);
      const { number: conversation } = first.conversation;
      assert.equal(
        (await scene.store.conversations.listDecisions({ asker: EVERYONE, conversation })).length,
        1,
      );
      assert.equal(
        (await scene.store.conversations.findConversations({ asker: EVERYONE, session: id })).length,
        1,
      );
    });

    rule("moves a conversation with another session, like switching", async (scene) => {
      const from = await scene.create(OWNER, ["one"]);
      const to = await scene.create(OWNER, ["two"]);
      const source = editor("window");
      const first = throwIfRefused(await attach(scene, from.id, { source }));
      const moved = throwIfRefused(await attach(scene, to.id, { source, now: T0 + HOUR }));
      assert.equal(moved.conversation.number, first.conversation.number);
      assert.deepEqual([moved.conversation.session, moved.conversation.activeAt], [to.id, T0 + HOUR]);
      assert.equal((await scene.get(from.id)).endReason, "switch", "no conversation points to it");
      const conversation = moved.conversation.number;
      const [decision] = await scene.store.conversations.listDecisions({ asker: EVERYONE, conversation });
      assert.deepEqual(decision, { at: T0 + HOUR, decision: "switched", from: from.id, to: to.id });
    });

    rule("works after the conversation has expired", async (scene) => {
      const { id } = await scene.create(OWNER, ["one"]);
      const { conversation } = throwIfRefused(await attach(scene, id));
      const reset = { idleBefore: T0 + HOUR };
      await scene.store.conversations.expireConversation({
        conversation: conversation.number,
        reset,
        now: T0 + HOUR,
      });
      assert.notEqual((await scene.get(id)).endedAt, undefined);
      const back = throwIfRefused(await attach(scene, id, { now: T0 + 2 * HOUR }));
      assert.deepEqual([back.session.endedAt, back.conversation.activeAt], [undefined, T0 + 2 * HOUR]);
      assert.equal((await scene.take(editor(id), "still me")).session.id, id);
    });

    rule("lets several chats share a session, each with its own conversation", async (scene) => {
      const { id } = await scene.talk(ANN, "hello", "hi", { person: OWNER });
      const one = throwIfRefused(await attach(scene, id, { source: editor("a") }));
      const two = throwIfRefused(await attach(scene, id, { source: editor("b") }));
      assert.notEqual(one.conversation.number, two.conversation.number);
      assert.equal(
        (await scene.store.conversations.findConversations({ asker: EVERYONE, session: id })).length,
        3,
      );
      assert.equal((await scene.take(ANN, "me too", { person: OWNER })).session.id, id);
    });

    rule("does not change the session, except that it reopens it", async (scene) => {
      const named = { ...ANN, chatName: "Ann at home" };
      const { id } = await scene.talk(named, "hello", "hi", { person: OWNER });
      const ask = { asker: owner, session: id, now: T0 };
      throwIfRefused(await scene.store.sessions.setTitle({ ...ask, title: "Plan" }));
      const change = { cwd: "/work", archived: true } as const;
      const before = throwIfRefused(await scene.store.sessions.change({ ...ask, change }));
      throwIfRefused(await scene.store.sessions.change({ ...ask, change: { ended: true } }));
      const { session } = throwIfRefused(await attach(scene, id, { now: T0 + HOUR }));
      assert.deepEqual(session, before);
      assert.deepEqual([session.origin, session.displayName], [named, "Ann at home"]);
      const listed = { asker: owner, platform: "telegram", archived: "both" } as const;
      assert.equal(
        (await scene.store.sessions.querySessions(listed)).items.length,
        1,
        "it stays where it was listed",
      );
      // Ended by a person, although the conversation points to it.
      throwIfRefused(await scene.store.sessions.change({ ...ask, change: { ended: true } }));
      assert.deepEqual(throwIfRefused(await attach(scene, id, { now: T0 + HOUR })).session, before);
      assert.deepEqual(await scene.get(id), before);
    });

    rule("works in an unused profile", async (scene) => {
      const { id } = await scene.create(OWNER);
      const { conversation } = throwIfRefused(await attach(scene, id, { profile: "second" }));
      assert.equal(conversation.key, `agent:second:acp:dm:${id}`);
    });

    rule("reports that the conversation keeps its old scope rules", async (scene) => {
      const group = await scene.talk(inGroup("ann"), "hello", "hi", { scope: SCOPE_SHARED });
      const asker = { person: "p_ann", chat: group.owner };
      const here = { source: inGroup("ann"), asker };
      assert.equal(
        throwIfRefused(await attach(scene, group.id, { ...here, scope: SCOPE_SHARED })).usesOldScope,
        false,
      );
      assert.equal(
        throwIfRefused(await attach(scene, group.id, { ...here, scope: SCOPE_PER_USER })).usesOldScope,
        true,
      );
    });
  });

  describe("attaching is refused", () => {
    rule("for sessions that do not exist or were removed, and creates no conversation", async (scene) => {
      const { id } = await scene.create(OWNER, ["hello", "hi"]);
      await scene.fork(id);
      assert.equal(await scene.store.sessions.remove({ asker: owner, session: id, now: T0 }), true);
      for (const session of [id, "nobody"]) {
        assertRefused(await attach(scene, session), "not_found");
        assert.deepEqual(
          await scene.store.conversations.findConversations({ asker: EVERYONE, source: editor(session) }),
          [],
        );
      }
    });

    rule("for another person's session, for every asker", async (scene) => {
      const { id } = await scene.talk(BOB, "mine", "yes");
      const own = await scene.create(OWNER);
      const source = editor("window");
      for (const asker of [owner, EVERYONE])
        assertRefused(await attach(scene, id, { source, asker }), "not_allowed");
      assert.deepEqual(await scene.store.conversations.findConversations({ asker: EVERYONE, source }), []);
      throwIfRefused(await attach(scene, own.id, { source }));
      for (const asker of [owner, EVERYONE])
        assertRefused(await attach(scene, id, { source, asker }), "not_allowed");
      const [conversation] = await scene.store.conversations.findConversations({ asker: EVERYONE, source });
      assert.equal(requireValue(conversation).session, own.id);
    });

    rule("for a private session in a chat with other readers", async (scene) => {
      const { id, owner: person } = await scene.talk(ANN, "a secret", "kept");
      for (const scope of [SCOPE_PER_USER, SCOPE_SHARED]) {
        const asker = { person, chat: "chat:telegram:-100" };
        const refused = await attach(scene, id, { source: inGroup("ann"), asker, scope });
        assertRefused(refused, "not_allowed");
      }
      assert.deepEqual(
        await scene.store.conversations.findConversations({ asker: EVERYONE, source: inGroup("ann") }),
        [],
      );
    });

    rule("to a person who is not in that chat", async (scene) => {
      const { id } = await scene.create(OWNER, ["hello"]);
      const asker = { person: "p_bob" };
      assertRefused(await attach(scene, id, { asker }), "not_found");
      assert.deepEqual(
        await scene.store.conversations.findConversations({ asker: EVERYONE, source: editor(id) }),
        [],
      );
      const other = await scene.create(OWNER);
      throwIfRefused(await attach(scene, other.id, { source: editor(id) }));
      assertRefused(await attach(scene, id, { asker }), "not_found");
      const [conversation] = await scene.store.conversations.findConversations({
        asker: EVERYONE,
        source: editor(id),
      });
      assert.equal(requireValue(conversation).session, other.id);
    });
  });

  describe("a chat's session that continues in an editor", () => {
    rule("becomes private, and the chat continues in a new one", async (scene) => {
      const { id } = await scene.talk(inGroup("me"), "hello all", "hi", { person: OWNER });
      const { session } = throwIfRefused(await attach(scene, id));
      assert.equal(session.audience, undefined);
      await scene.talk(editor(id), "a secret", "kept");
      const after = await scene.take(inGroup("me"), "and here?", { person: OWNER });
      assert.notEqual(after.session.id, id);
      assert.deepEqual(await scene.shows(id), ["hello all", "hi", "a secret", "kept"]);
    });

    rule("is refused while a turn runs there", async (scene) => {
      const turn = await scene.begin(inGroup("me"), "hello all", { person: OWNER, claim: ONE });
      assertRefused(await attach(scene, turn.session), "session_busy");
      const source = editor(turn.session);
      assert.deepEqual(await scene.store.conversations.findConversations({ asker: EVERYONE, source }), []);
      await scene.finish(turn, "hi");
      throwIfRefused(await attach(scene, turn.session));
    });
  });
}

function editor(chatId: string): Source {
  return { platform: "acp", chatType: "dm", chatId };
}

type More = Partial<Parameters<Scene["store"]["conversations"]["attach"]>[0]>;

function attach({ store }: Scene, session: string, more: More = {}) {
  const place = { source: editor(session), profile: "main", scope: SCOPE_PER_USER };
  return store.conversations.attach({ asker: owner, session, ...place, now: T0, ...more });
}
