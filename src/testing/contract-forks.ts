import assert from "node:assert/strict";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  assistant,
  EVERYONE,
  readTexts,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const FOUR = ["q1", "a1", "q2", "a2"];

/** Forks, and removal of sessions that keeps only the messages of forks. */
export function defineForkRules({ describe }: TestApi, rule: StoreRule): void {
  describe("forking", () => {
    rule("creates the same view, and both sessions are independent", async (scene) => {
      const { create, fork, say, shows } = scene;
      const { id } = await create("p_ann", FOUR, { model: "m1", cwd: "/home", config: { mood: "calm" } });
      const copy = await fork(id);
      assert.deepEqual(await shows(copy.id), FOUR);
      assert.deepEqual(
        [copy.parent, copy.owner, copy.usage.model, copy.cwd, copy.config],
        [id, "p_ann", "m1", "/home", { mood: "calm" }],
      );
      await say(id, user("here"));
      await say(copy.id, user("there"));
      await scene.reopen();
      assert.deepEqual(await shows(id), [...FOUR, "here"]);
      assert.deepEqual(await shows(copy.id), [...FOUR, "there"]);
      const [first, , , , last] = requireValue(
        await scene.store.messages.readHistory({ asker: EVERYONE, session: copy.id }),
      );
      assert.deepEqual([first?.session, last?.session, last?.seq], [id, copy.id, 1]);
    });

    rule("can keep only the first messages", async ({ create, fork, shows }) => {
      const { id } = await create("p_ann", FOUR);
      assert.deepEqual(await shows((await fork(id, { keep: 2 })).id), ["q1", "a1"]);
      assert.deepEqual(await shows((await fork(id, { keep: 0 })).id), []);
      assert.deepEqual(await shows((await fork(id, { keep: 99 })).id), FOUR);
      await assertRejects(fork(id, { keep: -1 }), "invalid_input");
    });

    rule("of a fork shows the messages of both", async ({ create, fork, say, shows, reshape }) => {
      const one = await create("p_ann", FOUR);
      const two = await fork(one.id, { keep: 2 });
      await say(two.id, user("q3"), assistant("a3"));
      const three = await fork(two.id);
      await say(three.id, user("q4"));
      assert.deepEqual(await shows(three.id), ["q1", "a1", "q3", "a3", "q4"]);
      assert.deepEqual(await shows(two.id), ["q1", "a1", "q3", "a3"]);
      assert.deepEqual(await shows(one.id), FOUR);
      await reshape(three.id, { kind: "undo" });
      await reshape(three.id, { kind: "undo" });
      assert.deepEqual(await shows(three.id), ["q1", "a1"]);
    });

    rule(
      "of a session with a changed view shows that view",
      async ({ create, fork, say, shows, reshape }) => {
        const { id } = await create("p_ann", FOUR);
        await reshape(id, { kind: "compress", summary: assistant("short"), keepLast: 1 });
        await say(id, user("q3"));
        const copy = await fork(id);
        assert.deepEqual(await shows(copy.id), ["short", "a2", "q3"]);
        await reshape(id, { kind: "rewrite", messages: [] });
        assert.deepEqual(await shows(copy.id), ["short", "a2", "q3"]);
      },
    );

    rule("copies the kind, unless another one is given", async ({ create, store, newId }) => {
      const { id } = await create("p_ann", FOUR, { kind: "editor" });
      const forked = async (more: { kind?: "job" }) => {
        const newSession = { id: newId(), ...more };
        return throwIfRefused(
          await store.sessions.fork({ asker: EVERYONE, session: id, newSession, now: T0 }),
        ).kind;
      };
      assert.deepEqual([await forked({}), await forked({ kind: "job" })], ["editor", "job"]);
    });

    rule("gets the next number of the title", async ({ create, fork }) => {
      const { id } = await create("p_ann", FOUR, { title: "Plan" });
      const two = await fork(id);
      assert.equal(two.title, "Plan #2");
      assert.equal((await fork(two.id)).title, "Plan #3");
      assert.equal((await fork(id, { title: "Other" })).title, "Other");
      assert.equal((await fork((await create("p_ann")).id)).title, undefined);
    });

    rule("is refused for other people's sessions, and for an existing id", async ({ create, store }) => {
      const { id } = await create("p_ann", FOUR);
      const newSession = { id: "copy", kind: "chat" as const };
      const ask = { session: id, newSession, now: T0 };
      assertRefused(await store.sessions.fork({ ...ask, asker: { person: "p_bob" } }), "not_found");
      assertRefused(
        await store.sessions.fork({ ...ask, asker: EVERYONE, newSession: { ...newSession, id } }),
        "invalid_input",
      );
    });
  });

  describe("removing", () => {
    const remove = ({ store }: Scene, session: string) =>
      store.sessions.remove({ asker: EVERYONE, session, now: T0 });

    rule("returns true once, then false", async (scene) => {
      const { id } = await scene.create("p_ann", FOUR, { title: "Plan" });
      assert.equal(await remove(scene, id), true);
      assert.equal(await remove(scene, id), false);
      await scene.reopen();
      assert.deepEqual(await scene.store.sessions.find({ asker: EVERYONE, text: id }), []);
      assert.equal(await scene.store.messages.readHistory({ asker: EVERYONE, session: id }), undefined);
      assert.equal(await scene.store.sessions.findByTitle({ asker: EVERYONE, title: "Plan" }), undefined);
      assert.deepEqual(await scene.store.messages.searchMessages({ asker: EVERYONE, text: "q1" }), []);
      const stats = await scene.store.sessions.getStats({ asker: EVERYONE });
      assert.deepEqual([stats.sessions, stats.messages], [0, 0]);
    });

    rule("is refused for other people's sessions", async ({ create, store, shows }) => {
      const { id } = await create("p_ann", FOUR);
      assert.equal(await store.sessions.remove({ asker: { person: "p_bob" }, session: id, now: T0 }), false);
      assert.deepEqual(await shows(id), FOUR);
    });

    rule("is refused while a turn runs", async (scene) => {
      const turn = await scene.begin(ANN, "hello");
      assertRefused(await remove(scene, turn.session), "session_busy");
      await scene.finish(turn, "hi");
      assert.equal(await remove(scene, turn.session), true);
    });

    rule("frees its conversation, so that the next message starts a new session", async (scene) => {
      const { take, accept, open } = scene;
      const { session } = await take(ANN, "one", { messageId: "7" });
      assert.equal(await remove(scene, session.id), true);
      assert.deepEqual(await scene.store.turns.listClaimable({ now: T0 }), []);
      assert.equal((await accept(ANN, "one", { messageId: "7" })).duplicate, true);
      const opened = await open(ANN);
      assert.equal(opened.created, true);
      assert.equal(opened.session.owner, session.owner);
    });

    rule("removes the session from the pending reset notice", async (scene) => {
      const old = await scene.talk(ANN, "hello", "hi");
      const stale = { now: T0 + 9, reset: { idleBefore: T0 + 1 } };
      assert.equal((await scene.open(ANN, stale)).fresh?.previous.session, old.id);
      assert.equal(await remove(scene, old.id), true);
      assert.equal((await scene.open(ANN, { now: T0 + 9 })).fresh, undefined);
    });

    rule("keeps the messages that a fork shows, and nothing else", async (scene) => {
      const { create, fork, say, shows, reshape } = scene;
      const { id } = await create("p_ann", ["apple", "pear", "plum", "cherry"], { title: "Fruit" });
      const copy = await fork(id, { keep: 2 });
      await say(copy.id, user("grape"));
      assert.equal(await remove(scene, id), true);
      await scene.reopen();
      const search = async (text: string) =>
        (await scene.store.messages.searchMessages({ asker: { person: "p_ann" }, text })).map(
          (hit) => hit.session,
        );
      assert.deepEqual(await shows(copy.id), ["apple", "pear", "grape"]);
      assert.deepEqual(await search("apple"), [copy.id]);
      assert.deepEqual(await search("plum"), []);
      assert.deepEqual(await search("cherry"), []);
      assert.equal((await scene.store.sessions.querySessions({ asker: EVERYONE })).items.length, 1);
      assert.deepEqual(await scene.store.sessions.find({ asker: EVERYONE, text: id }), []);
      assert.equal(await scene.store.messages.readHistory({ asker: EVERYONE, session: id }), undefined);
      await reshape(copy.id, { kind: "undo" });
      await reshape(copy.id, { kind: "redo" });
      assert.deepEqual(await shows(copy.id), ["apple", "pear", "grape"]);
      assert.deepEqual(await shows((await fork(copy.id)).id), ["apple", "pear", "grape"]);
    });

    rule("deletes the rest with the last fork", async (scene) => {
      const { create, fork, say } = scene;
      const one = await create("p_ann", ["apple", "pear"]);
      const two = await fork(one.id);
      await say(two.id, user("plum"));
      const three = await fork(two.id);
      await say(three.id, user("cherry"));
      const seen = async () => {
        const words = ["apple", "plum", "cherry"];
        const hits = words.map((text) =>
          scene.store.messages.searchMessages({ asker: EVERYONE, text, undone: true }),
        );
        return (await Promise.all(hits)).map((found) => found.map((hit) => hit.session));
      };
      assert.equal(await remove(scene, one.id), true);
      assert.equal(await remove(scene, two.id), true);
      assert.deepEqual(await seen(), [[three.id], [three.id], [three.id]]);
      assert.deepEqual(await scene.shows(three.id), ["apple", "pear", "plum", "cherry"]);
      assert.equal(await remove(scene, three.id), true);
      assert.deepEqual(await seen(), [[], [], []]);
      const stats = await scene.store.sessions.getStats({ asker: EVERYONE });
      assert.deepEqual([stats.sessions, stats.messages], [0, 0]);
      assert.equal((await scene.create("p_ann", [], { id: one.id })).id, one.id, "even the id is free again");
    });

    rule("works in any order of parents and children", async (scene) => {
      const { create, fork, shows } = scene;
      const one = await create("p_ann", FOUR);
      const two = await fork(one.id);
      const three = await fork(two.id);
      assert.equal(await remove(scene, two.id), true);
      assert.deepEqual([await shows(one.id), await shows(three.id)], [FOUR, FOUR]);
      assert.equal(await remove(scene, one.id), true);
      assert.deepEqual(await shows(three.id), FOUR);
      assert.equal(
        readTexts(await scene.store.messages.listMessages({ asker: EVERYONE, session: three.id })).length,
        0,
      );
    });

    rule("removes messages that are not indexed yet", async (scene) => {
      const { create, fork, shows } = scene;
      const words = ["apple", "pear", "plum", "cherry"];
      // At once, before anything is indexed.
      const { id } = await create("p_ann", words);
      const copy = await fork(id, { keep: 3 });
      await scene.reshape(copy.id, { kind: "rewind", to: { session: id, seq: 1 } });
      assert.equal(await remove(scene, id), true);
      for (let times = 0; times < 2; times++) {
        await scene.reopen();
        const found = await scene.store.messages.searchMessages({ asker: EVERYONE, text: "apple" });
        assert.deepEqual(
          found.map((hit) => hit.session),
          [copy.id],
        );
      }
      assert.deepEqual(await shows(copy.id), ["apple"]);
      assert.equal(await remove(scene, copy.id), true);
      assert.deepEqual(
        await scene.store.messages.searchMessages({ asker: EVERYONE, text: "apple", undone: true }),
        [],
      );
    });
  });
}
