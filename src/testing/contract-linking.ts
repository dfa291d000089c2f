import assert from "node:assert/strict";
import { OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  BOB,
  dm,
  EVERYONE,
  inGroup,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const annName = { platform: "telegram", userId: "ann" };
const onSignal = { ...dm("+49"), platform: "signal" };
const signalName = { platform: "signal", userId: "+49" };

/** Linking an account to another person. */
export function defineLinkingRules({ describe }: TestApi, rule: StoreRule): void {
  describe("linking an account", () => {
    rule("moves all data of a person without another account", async (scene) => {
      const { store, talk, get } = scene;
      const mine = await talk(ANN, "hello", "hi");
      const theirs = await talk(onSignal, "also me", "welcome");
      const inside = await talk(inGroup("ann"), "in the group", "yes");
      throwIfRefused(await store.sessions.setTitle({ asker: EVERYONE, session: mine.id, title: "plans" }));
      throwIfRefused(await store.sessions.setTitle({ asker: EVERYONE, session: theirs.id, title: "plans" }));
      await store.access.setRole({ person: theirs.owner, role: "member", now: T0 });
      const known = throwIfRefused(
        await store.access.linkAccount({ account: signalName, person: mine.owner, now: T0 }),
      );
      assert.deepEqual(known, { person: mine.owner, role: "member", name: "+49" });

      const moved = await get(theirs.id);
      assert.deepEqual([moved.owner, moved.title], [mine.owner, "plans #2"]);
      assert.equal((await get(mine.id)).title, "plans");
      assert.equal((await get(inside.id)).owner, mine.owner);
      assert.equal(await store.access.readPersonData({ person: theirs.owner }), undefined);
      // Both chats keep their sessions, and each can resume the session of the other.
      const there = await scene.take(onSignal, "and on");
      assert.deepEqual([there.session.id, there.conversation.person], [theirs.id, mine.owner]);
      const asker = { person: mine.owner };
      const conversation = there.conversation.number;
      await store.inbox.cancelPending({ conversation, now: T0 });
      const back = throwIfRefused(
        await store.conversations.switchTo({ asker, session: mine.id, conversation, now: T0 }),
      );
      assert.equal(back.session.id, mine.id);
    });

    rule("leaves the data of a person with another account, and starts new sessions", async (scene) => {
      const { store, talk, get, take } = scene;
      const mine = await talk(ANN, "my secret", "kept");
      const inside = await talk(inGroup("ann"), "in the group", "yes");
      throwIfRefused(await store.access.linkAccount({ account: signalName, person: mine.owner, now: T0 }));
      const onOther = await talk(onSignal, "from signal", "ok");
      assert.equal(onOther.owner, mine.owner);
      const bob = (await talk(BOB, "hello", "hi")).owner;
      throwIfRefused(await store.access.linkAccount({ account: annName, person: bob, now: T0 }));
      for (const session of [mine, inside, onOther]) assert.equal((await get(session.id)).owner, mine.owner);
      for (const source of [ANN, inGroup("ann")]) {
        const { session, conversation } = await take(source, "hello again");
        assert.deepEqual([session.owner, conversation.person, session.messageCount], [bob, bob, 0]);
      }
      assert.equal((await take(onSignal, "still me")).session.id, onOther.id);
      assert.deepEqual(await store.sessions.find({ asker: { person: bob }, text: mine.id }), []);
      assert.equal((await get(mine.id)).endReason, "switch");
    });

    rule("never moves data of the owner", async (scene) => {
      const { store, create, talk, get } = scene;
      const own = await create(OWNER, ["mine"]);
      throwIfRefused(await store.access.linkAccount({ account: annName, person: OWNER, now: T0 }));
      const said = await talk(ANN, "from my phone", "yes");
      assert.deepEqual(await store.access.getAccount(annName), { person: OWNER, role: "owner" });
      assert.equal(said.owner, OWNER);
      const bob = (await talk(BOB, "hello", "hi")).owner;
      assert.deepEqual(
        throwIfRefused(await store.access.linkAccount({ account: annName, person: bob, now: T0 })).person,
        bob,
      );
      for (const { id } of [own, said]) assert.equal((await get(id)).owner, OWNER);
      assert.notEqual((await scene.open(ANN)).session.id, said.id);
    });

    rule(
      "to nobody leaves all data with its person, and the account gets a new person without a role",
      async (scene) => {
        const { store } = scene;
        const mine = await scene.talk(ANN, "a secret", "kept");
        throwIfRefused(await store.access.linkAccount({ account: annName, person: OWNER, now: T0 }));
        const known = throwIfRefused(await store.access.linkAccount({ account: annName, now: T0 }));
        assert.notEqual(known.person, OWNER);
        assert.equal(known.role, undefined);
        assert.equal((await scene.get(mine.id)).owner, OWNER);
        const after = await scene.talk(ANN, "who am I?", "nobody");
        assert.deepEqual([after.owner, after.id === mine.id], [known.person, false]);
        const nobody = { platform: "telegram", userId: "404" };
        assertRefused(await store.access.linkAccount({ account: nobody, now: T0 }), "not_found");
      },
    );

    rule("moves approval rules, open requests and codes that link", async (scene) => {
      const { store, begin, finish } = scene;
      const turn = await begin(onSignal, "do it");
      const former = (await scene.get(turn.session)).owner;
      const ask = async (pattern: string) =>
        throwIfRefused(
          await store.access.createApproval({
            turn: turn.number,
            fence: turn.fence,
            request: { title: "List files", pattern },
            deadline: T0 + 9,
            now: T0,
          }),
        ).number;
      const done = await ask("ls");
      await store.access.answerApproval({ person: former, approval: done, answer: "always", now: T0 });
      const open = await ask("rm");
      const ann = (await scene.talk(ANN, "hello", "hi")).owner;
      assertRefused(
        await store.access.linkAccount({ account: signalName, person: ann, now: T0 }),
        "session_busy",
      );
      await finish(turn, "done");
      throwIfRefused(await store.access.linkAccount({ account: signalName, person: ann, now: T0 }));
      const { session } = turn;
      assert.equal(await store.access.checkApprovalRules({ person: ann, session, pattern: "ls" }), "allowed");
      assert.equal(
        await store.access.checkApprovalRules({ person: former, session, pattern: "ls" }),
        undefined,
      );
      assert.deepEqual(
        (await store.access.listApprovals({ person: ann })).map(({ number }) => number),
        [open],
      );
    });

    rule("keeps the last of 'always' and 'never' of both persons", async (scene) => {
      const { store } = scene;
      const answered = async (source: typeof ANN, given: Readonly<Record<string, [string, number]>>) => {
        const turn = await scene.begin(source, "do it");
        const { owner: person } = await scene.get(turn.session);
        for (const [pattern, [answer, now]] of Object.entries(given)) {
          const request = { title: "Do it", pattern };
          const { number: approval } = throwIfRefused(
            await store.access.createApproval({
              turn: turn.number,
              fence: turn.fence,
              request,
              deadline: T0 + 9,
              now: T0,
            }),
          );
          const said = answer as "always" | "never";
          throwIfRefused(await store.access.answerApproval({ person, approval, answer: said, now }));
        }
        await scene.finish(turn, "done");
        return person;
      };
      await answered(onSignal, {
        only: ["never", T0],
        late: ["never", T0 + 2],
        early: ["never", T0],
        same: ["always", T0],
        too: ["never", T0],
      });
      const person = await answered(ANN, {
        late: ["always", T0 + 1],
        early: ["always", T0 + 1],
        same: ["never", T0],
        too: ["always", T0],
      });
      throwIfRefused(await store.access.linkAccount({ account: signalName, person, now: T0 }));
      const standing = (pattern: string) =>
        store.access.checkApprovalRules({ person, session: "any", pattern });
      assert.equal(await standing("only"), "never");
      assert.equal(await standing("late"), "never");
      assert.equal(await standing("early"), "allowed");
      assert.equal(await standing("same"), "never", "at the same time, never wins");
      assert.equal(await standing("too"), "never");
    });

    rule("works for an account without messages", async ({ store, talk }) => {
      const ann = (await talk(ANN, "hello", "hi")).owner;
      throwIfRefused(await store.access.linkAccount({ account: signalName, person: ann, now: T0 }));
      assert.equal((await talk(onSignal, "it is me", "yes")).owner, ann);
    });

    rule("twice is the same as once, and an unknown person is refused", async ({ store, talk }) => {
      const { id, owner: person } = await talk(ANN, "hello", "hi");
      throwIfRefused(await store.access.linkAccount({ account: annName, person, now: T0 }));
      assertRefused(
        await store.access.linkAccount({ account: annName, person: "p_nobody", now: T0 }),
        "not_found",
      );
      const [conversation] = await store.conversations.findConversations({ asker: { person }, source: ANN });
      assert.equal(requireValue(conversation).session, id);
    });

    rule("reveals no session to a person who could not see it", async (scene) => {
      const { store } = scene;
      const people = await linkAccounts(scene);
      const { items } = await store.sessions.querySessions({ asker: EVERYONE, archived: "both", limit: 100 });
      const conversations = (
        await Promise.all(
          items.map(({ id: session }) => store.conversations.findConversations({ asker: EVERYONE, session })),
        )
      ).flat();
      assert.ok(conversations.length >= 4);
      for (const { session, person } of conversations) {
        const { owner } = await scene.get(session);
        if (person !== undefined)
          assert.equal(owner, person, "a conversation points to a session of its person");
      }
      for (const person of people) {
        const seen = await store.sessions.querySessions({ asker: { person }, limit: 100 });
        assert.ok(seen.items.every(({ owner }) => owner === person));
      }
    });
  });
}

/** Accounts that were moved between people several times. */
async function linkAccounts({ store, talk }: Scene) {
  const ann = (await talk(ANN, "ann", "one")).owner;
  const bob = (await talk(BOB, "bob", "two")).owner;
  await talk(inGroup("ann"), "ann in the group", "three");
  await talk(onSignal, "somebody", "four");
  const to = async (account: { platform: string; userId: string }, person: string) =>
    throwIfRefused(await store.access.linkAccount({ account, person, now: T0 }));
  await to(signalName, ann);
  await to(annName, bob);
  await to(signalName, bob);
  await to({ platform: "telegram", userId: "bob" }, OWNER);
  return [bob, OWNER];
}
