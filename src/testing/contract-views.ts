import assert from "node:assert/strict";
import type { Message } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { KEPT_VERSIONS, KEPT_VERSIONS_MS } from "../core/view-change.ts";
import {
  assertRefused,
  assertRejects,
  assistant,
  DAY,
  EVERYONE,
  readTexts,
  requireValue,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const FOUR = ["q1", "a1", "q2", "a2"];
const UNDO = { kind: "undo" } as const;
const REDO = { kind: "redo" } as const;

/** Views of sessions. Messages are never deleted by a view change. */
export function defineViewRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a rewrite", () => {
    rule("shows only the new messages, and keeps the old ones readable", async (scene) => {
      const { id } = await scene.create("p_ann", FOUR);
      const messages = [user("q"), assistant("a", { reasoning: "because" })];
      const reshaped = await scene.reshape(id, { kind: "rewrite", messages });
      assert.deepEqual([reshaped.length, reshaped.before], [2, 4]);
      await scene.reopen();
      assert.deepEqual(await scene.shows(id), ["q", "a"]);
      const ask = { asker: EVERYONE, session: id };
      assert.equal((await scene.store.messages.readHistory(ask))?.[1]?.reasoning, "because");
      assert.deepEqual(readTexts(await scene.store.messages.listMessages(ask)), [...FOUR, "q", "a"]);
      await scene.say(id, user("more"));
      assert.deepEqual(await scene.shows(id), ["q", "a", "more"]);
    });

    rule("to nothing shows nothing", async (scene) => {
      const { id } = await scene.create("p_ann", FOUR);
      const reshaped = await scene.reshape(id, { kind: "rewrite", messages: [] });
      assert.deepEqual([reshaped.length, reshaped.before], [0, 4]);
      await scene.reopen();
      assert.deepEqual(await scene.shows(id), []);
      assert.deepEqual(
        readTexts(await scene.store.messages.listMessages({ asker: EVERYONE, session: id })),
        FOUR,
      );
    });

    rule("accepts messages from a history, and gives them new seqs", async ({ create, reshape, store }) => {
      const [from, { id }] = [await create("p_ann", FOUR), await create("p_ann", ["here"])];
      const old: readonly Message[] = requireValue(
        await store.messages.readHistory({ asker: EVERYONE, session: from.id }),
      );
      await reshape(id, { kind: "rewrite", messages: old.slice(2) });
      const shown = requireValue(await store.messages.readHistory({ asker: EVERYONE, session: id }));
      assert.deepEqual(readTexts(shown), ["q2", "a2"]);
      assert.deepEqual(
        shown.map(({ session, seq }) => [session, seq]),
        [
          [id, 2],
          [id, 3],
        ],
      );
    });
  });

  describe("undo and redo", () => {
    rule(
      "removes the last human message and everything after it from the view",
      async ({ create, reshape, shows, store }) => {
        const { id } = await create("p_ann", FOUR);
        const undone = await reshape(id, UNDO);
        assert.deepEqual([undone.length, undone.before], [2, 4]);
        assert.deepEqual(readTexts([requireValue(undone.firstCut)]), ["q2"]);
        assert.equal(undone.firstCut?.seq, 3);
        assert.deepEqual(await shows(id), ["q1", "a1"]);
        assert.deepEqual(
          readTexts(await store.messages.listMessages({ asker: EVERYONE, session: id })),
          FOUR,
        );
        const shape = await store.messages.getViewRanges({ asker: EVERYONE, session: id });
        assert.deepEqual(shape, { pieces: [{ session: id, from: 1, to: 2 }], hidden: [{ from: 3, to: 4 }] });
      },
    );

    rule("can be repeated in both directions", async ({ create, reshape, tryReshape, shows }) => {
      const { id } = await create("p_ann", FOUR);
      await reshape(id, UNDO);
      await reshape(id, REDO);
      assert.deepEqual(await shows(id), FOUR);
      await reshape(id, UNDO);
      await reshape(id, UNDO);
      assert.deepEqual(await shows(id), []);
      assertRefused(await tryReshape(id, UNDO), "nothing_to_undo");
      await reshape(id, REDO);
      assert.deepEqual(await shows(id), ["q1", "a1"]);
      await reshape(id, REDO);
      assert.deepEqual(await shows(id), FOUR);
      assertRefused(await tryReshape(id, REDO), "nothing_to_redo");
    });

    rule("has nothing to redo after a new message", async ({ create, reshape, tryReshape, say, shows }) => {
      const { id } = await create("p_ann", FOUR);
      assertRefused(await tryReshape(id, REDO), "nothing_to_redo");
      await reshape(id, UNDO);
      await say(id, user("q3"), assistant("a3"));
      assertRefused(await tryReshape(id, REDO), "nothing_to_redo");
      assert.deepEqual(await shows(id), ["q1", "a1", "q3", "a3"]);
      // Undo and redo of that do not restore the other branch either.
      await reshape(id, UNDO);
      await reshape(id, REDO);
      assert.deepEqual(await shows(id), ["q1", "a1", "q3", "a3"]);
      assertRefused(await tryReshape(id, REDO), "nothing_to_redo");
    });

    rule("works on a session whose versions have expired", async ({ create, reshape, shows, store }) => {
      const { id } = await create("p_ann", FOUR);
      const later = T0 + KEPT_VERSIONS_MS + DAY;
      await reshape(id, UNDO, later);
      await reshape(id, REDO, later);
      assert.deepEqual(await shows(id), FOUR);
      const kept = await store.messages.listVersions({ asker: EVERYONE, session: id });
      assert.deepEqual(
        kept.map((version) => version.kind),
        ["redo", "undo", "begin"],
      );
    });

    rule("does not change the view of a fork", async ({ create, fork, reshape, shows, say }) => {
      const { id } = await create("p_ann", FOUR);
      const copy = await fork(id);
      await reshape(copy.id, UNDO);
      assert.deepEqual(await shows(copy.id), ["q1", "a1"]);
      assert.deepEqual(await shows(id), FOUR);
      await say(copy.id, user("q3"));
      await reshape(id, UNDO);
      await reshape(id, UNDO);
      assert.deepEqual(await shows(copy.id), ["q1", "a1", "q3"]);
      await reshape(copy.id, UNDO);
      await reshape(copy.id, UNDO);
      assert.deepEqual(await shows(copy.id), []);
      await reshape(copy.id, REDO);
      assert.deepEqual(await shows(copy.id), ["q1", "a1"]);
    });
  });

  describe("rewinding and restoring", () => {
    rule("to a message shows nothing after it", async ({ create, fork, reshape, tryReshape, shows }) => {
      const { id } = await create("p_ann", FOUR);
      const copy = await fork(id);
      const rewound = await reshape(copy.id, { kind: "rewind", to: { session: id, seq: 3 } });
      assert.deepEqual([rewound.length, rewound.before], [3, 4]);
      assert.deepEqual(readTexts([requireValue(rewound.firstCut)]), ["a2"]);
      assert.deepEqual(await shows(copy.id), ["q1", "a1", "q2"]);
      const gone = { kind: "rewind", to: { session: id, seq: 4 } } as const;
      assertRefused(await tryReshape(copy.id, gone), "not_found");
      assertRefused(await tryReshape(id, { kind: "rewind", to: { session: "no", seq: 1 } }), "not_found");
      await reshape(copy.id, REDO);
      assert.deepEqual(await shows(copy.id), FOUR);
    });

    rule("to any kept version shows the messages of that version", async (scene) => {
      const { create, reshape, tryReshape, shows, say } = scene;
      const { id } = await create("p_ann", FOUR);
      await reshape(id, UNDO, T0 + 1);
      await say(id, user("q3"));
      await reshape(id, { kind: "rewrite", messages: [user("new")] }, T0 + 2);
      await say(id, assistant("answer"));
      const ask = { asker: EVERYONE, session: id };
      assert.deepEqual(await scene.store.messages.listVersions(ask), [
        { version: 2, kind: "rewrite", at: T0 + 2, length: 2 },
        { version: 1, kind: "undo", at: T0 + 1, length: 3 },
        { version: 0, kind: "begin", at: T0, length: 4 },
      ]);
      await scene.reopen();
      await reshape(id, { kind: "restore", version: 1 }, T0 + 3);
      assert.deepEqual(await shows(id), ["q1", "a1", "q3"]);
      await reshape(id, { kind: "restore", version: 0 }, T0 + 4);
      assert.deepEqual(await shows(id), FOUR);
      await reshape(id, { kind: "restore", version: 2 }, T0 + 5);
      assert.deepEqual(await shows(id), ["new", "answer"]);
      assertRefused(await tryReshape(id, { kind: "restore", version: 77 }), "not_found");
    });

    rule("keeps the newest fifty versions", async ({ create, reshape, tryReshape, shows, store }) => {
      const { id } = await create("p_ann", FOUR);
      for (let times = 0; times < 30; times++) {
        await reshape(id, UNDO);
        await reshape(id, REDO);
      }
      const versions = await store.messages.listVersions({ asker: EVERYONE, session: id });
      assert.equal(versions.length, KEPT_VERSIONS);
      assert.equal(versions[0]?.version, 60);
      assertRefused(await tryReshape(id, { kind: "restore", version: 10 }), "not_found");
      await reshape(id, { kind: "restore", version: 12 });
      assert.deepEqual(await shows(id), FOUR);
    });

    rule("deletes versions that are too old", async ({ create, reshape, tryReshape, store }) => {
      const { id } = await create("p_ann", FOUR);
      const later = T0 + KEPT_VERSIONS_MS + DAY;
      await reshape(id, UNDO, T0);
      await reshape(id, UNDO, later);
      const kept = await store.messages.listVersions({ asker: EVERYONE, session: id });
      assert.deepEqual(
        kept.map(({ version }) => version),
        [2, 1],
        "the undo of long ago was left only now",
      );
      assertRefused(await tryReshape(id, { kind: "restore", version: 0 }, later), "not_found");
    });
  });

  describe("compressing", () => {
    rule("shows the summary and the last messages, then new ones", async (scene) => {
      const { create, reshape, shows, say } = scene;
      const { id } = await create("p_ann", FOUR);
      const summary = assistant("They asked twice.");
      const done = await reshape(id, { kind: "compress", summary, keepLast: 1 });
      assert.deepEqual([done.length, done.before], [2, 4]);
      assert.deepEqual(await shows(id), ["They asked twice.", "a2"]);
      await say(id, user("q3"), assistant("a3"));
      await scene.reopen();
      assert.deepEqual(await shows(id), ["They asked twice.", "a2", "q3", "a3"]);
      const found = await scene.store.messages.searchMessages({ asker: EVERYONE, text: "q1" });
      assert.deepEqual(
        found.map((hit) => hit.seq),
        [1],
        "the originals are still found",
      );
      await reshape(id, { kind: "restore", version: 0 });
      assert.deepEqual(await shows(id), FOUR);
    });

    rule(
      "can keep more messages than exist, or none, and can be repeated",
      async ({ create, reshape, shows }) => {
        const { id } = await create("p_ann", FOUR);
        await reshape(id, { kind: "compress", summary: assistant("s1"), keepLast: 99 });
        assert.deepEqual(await shows(id), ["s1", ...FOUR]);
        await reshape(id, { kind: "compress", summary: assistant("s2"), keepLast: 3 });
        assert.deepEqual(await shows(id), ["s2", "a1", "q2", "a2"]);
        await reshape(id, { kind: "compress", summary: assistant("s3"), keepLast: 0 });
        assert.deepEqual(await shows(id), ["s3"]);
      },
    );

    rule("with `replaces` keeps messages that arrived while the summary was written", async (scene) => {
      const { create, reshape, shows, say, store } = scene;
      const { id } = await create("p_ann", FOUR);
      await say(id, user("meanwhile"));
      const usage = { inputTokens: 7, lastPromptTokens: 0 };
      const replaces = { count: 2, last: { session: id, seq: 2 } };
      await reshape(id, { kind: "compress", summary: assistant("s"), replaces, usage });
      assert.deepEqual(await shows(id), ["s", "q2", "a2", "meanwhile"]);
      const session = await store.sessions.getSession({ asker: EVERYONE, session: id });
      assert.deepEqual([session?.usage.inputTokens, session?.usage.lastPromptTokens], [7, 0]);
    });

    rule("with `replaces` is refused if these messages changed, and changes nothing", async (scene) => {
      const { create, reshape, tryReshape, shows, store } = scene;
      const { id } = await create("p_ann", FOUR);
      const replaces = { count: 3, last: { session: id, seq: 3 } };
      const late = {
        kind: "compress",
        summary: assistant("late"),
        replaces,
        usage: { inputTokens: 7 },
      } as const;
      await reshape(id, UNDO);
      assertRefused(await tryReshape(id, late), "session_busy");
      await reshape(id, REDO);
      await reshape(id, { kind: "compress", summary: assistant("s"), keepLast: 2 });
      const elsewhere = await tryReshape(id, { ...late, replaces: { ...replaces, count: 4 } });
      assertRefused(elsewhere, "session_busy");
      assert.deepEqual(await shows(id), ["s", "q2", "a2"]);
      assert.equal((await store.sessions.getSession({ asker: EVERYONE, session: id }))?.usage.inputTokens, 0);
      assert.equal((await store.messages.listMessages({ asker: EVERYONE, session: id }))?.length, 5);
    });

    rule("refuses an invalid number of messages", async ({ create, tryReshape, shows, store }) => {
      const { id } = await create("p_ann", FOUR);
      const summary = assistant("s");
      await assertRejects(tryReshape(id, { kind: "compress", summary, keepLast: -1 }), "invalid_input");
      await assertRejects(tryReshape(id, { kind: "compress", summary, keepLast: 1.5 }), "invalid_input");
      assert.deepEqual(await shows(id), FOUR);
      assert.deepEqual(readTexts(await store.messages.listMessages({ asker: EVERYONE, session: id })), FOUR);
    });
  });

  describe("a view change", () => {
    rule("is refused for other people's sessions, and for missing ones", async ({ create, store, shows }) => {
      const { id } = await create("p_ann", FOUR);
      for (const [asker, session] of [
        [{ person: "p_bob" }, id],
        [EVERYONE, "nobody"],
      ] as const) {
        assertRefused(
          await store.messages.changeView({ asker, session, kind: "undo", now: T0 }),
          "not_found",
        );
        assert.deepEqual(await store.messages.listVersions({ asker, session }), []);
        assert.equal(await store.messages.getViewRanges({ asker, session }), undefined);
        assert.equal(await store.messages.readHistory({ asker, session }), undefined);
        assert.equal(await store.messages.listMessages({ asker, session }), undefined);
      }
      assert.deepEqual(await shows(id), FOUR);
    });

    rule("of an empty session finds nothing to undo", async ({ create, tryReshape, say }) => {
      const { id } = await create("p_ann");
      assertRefused(await tryReshape(id, UNDO), "nothing_to_undo");
      await say(id, assistant("Welcome."));
      assertRefused(await tryReshape(id, UNDO), "nothing_to_undo");
    });

    rule("keeps every message with concurrent changes and messages", async ({ create, store, say }) => {
      const { id } = await create("p_ann", FOUR);
      const ask = { asker: EVERYONE, session: id, now: T0 };
      const steps = Array.from({ length: 20 }, (_, index) => [
        say(id, user(`n${index}`)),
        store.messages.changeView({ ...ask, kind: "undo" }).then(throwIfRefused),
      ]);
      await Promise.all(steps.flat());
      const said = readTexts(await store.messages.listMessages(ask));
      assert.equal(said.length, FOUR.length + 20);
      assert.equal(new Set(said).size, said.length);
    });
  });
}
