import assert from "node:assert/strict";
import type { Hit, SearchRequest } from "../core/listing.ts";
import { textPart } from "../core/message.ts";
import {
  ANN,
  assistant,
  EVERYONE,
  inGroup,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

/** Full-text search, limited to visible messages. */
export function defineSearchRules({ describe }: TestApi, rule: StoreRule): void {
  describe("search", () => {
    rule("finds words, phrases, prefixes and alternatives, and respects exclusions", async (scene) => {
      const { id } = await scene.create("p_ann");
      await scene.say(
        id,
        user("The quick brown fox jumps"),
        assistant("A lazy dog sleeps, quickly it wakes"),
        user("brown quick is another order"),
        assistant("Déjà vu in the CAFÉ with C++ and chat-send"),
      );
      const expected: Record<string, number[]> = {
        quick: [1, 3],
        "quick brown": [1, 3],
        '"quick brown"': [1],
        "quick*": [1, 2, 3],
        "fox OR dog": [1, 2],
        "brown -order": [1],
        "brown NOT order": [1],
        "deja cafe": [4],
        CAFÉ: [4],
        "c++": [4],
        "chat-send": [4],
        "hello AND": [],
        "fox AND": [1],
        "OR fox": [1],
        zebra: [],
      };
      await checkBothWays(scene, async (seqs) => {
        for (const [query, wanted] of Object.entries(expected)) {
          assert.deepEqual(await seqs({ text: query }), wanted, query);
        }
      });
    });

    rule("returns the best match first, and the newest of equal ones", async (scene) => {
      const { id } = await scene.create("p_ann");
      await scene.say(
        id,
        user("rivers and hills and clouds and a fox somewhere among so many other words"),
        user("fox fox fox"),
        user("a fox"),
        user("a fox"),
      );
      // Unindexed messages come newest first, indexed ones best first.
      await scene.waitUntilIdle();
      const hits = await scene.store.messages.searchMessages({ asker: EVERYONE, text: "fox" });
      assert.deepEqual(
        hits.map((hit) => hit.seq),
        [2, 4, 3, 1],
      );
    });

    rule("finds any part of a text in a script without spaces", async (scene) => {
      const { id } = await scene.create("p_ann");
      await scene.say(
        id,
        user("昨日東京都庁に行きました"),
        assistant("ภาษาไทยไม่มีช่องว่าง"),
        user("한국어 검색을"),
      );
      // 𱍐 and 𞤀 are newer than most Unicode tables.
      await scene.say(id, user("古い字𱍐です"), user("𞤀𞤣𞤤𞤢𞤥 word"));
      await checkBothWays(scene, async (seqs) => {
        assert.deepEqual(await seqs({ text: "京都" }), [1]);
        assert.deepEqual(await seqs({ text: "京東" }), []);
        assert.deepEqual(await seqs({ text: "ไทยไม่" }), [2]);
        assert.deepEqual(await seqs({ text: "검색" }), [3]);
        assert.deepEqual(await seqs({ text: "국" }), [3]);
        assert.deepEqual(await seqs({ text: "어한" }), []);
        assert.deepEqual(await seqs({ text: "𱍐" }), [4]);
        assert.deepEqual(await seqs({ text: "𞤀𞤣𞤤𞤢𞤥" }), [5]);
      });
    });

    rule("filters by role, platform, kind and session", async (scene) => {
      const { talk, create, store } = scene;
      const chat = await talk(ANN, "needle here", "needle there");
      const signal = await talk({ ...ANN, platform: "signal" }, "needle", "nothing");
      const job = await create("p_ann", ["needle"], { kind: "job" });
      const found = async (filter: Partial<SearchRequest>) =>
        formatHits(await store.messages.searchMessages({ asker: EVERYONE, text: "needle", ...filter }));
      const [q, a, s, j] = [`${chat.id} 1`, `${chat.id} 2`, `${signal.id} 1`, `${job.id} 1`];
      await scene.waitUntilIdle();
      assert.deepEqual(await found({}), [q, a, s, j].toSorted());
      assert.deepEqual(await found({ roles: ["assistant"] }), [a]);
      assert.deepEqual(await found({ roles: [] }), []);
      assert.deepEqual(await found({ platforms: ["telegram"] }), [q, a]);
      assert.deepEqual(await found({ platforms: ["telegram", "signal"] }), [q, a, s].toSorted());
      assert.deepEqual(await found({ platforms: [] }), []);
      assert.deepEqual(await found({ kinds: ["job"] }), [j]);
      assert.deepEqual(await found({ kinds: [] }), []);
      assert.deepEqual(await found({ session: signal.id }), [s]);
      assert.deepEqual(await found({ session: "nobody" }), []);
    });

    rule("returns a marked snippet, with the previous and next message", async (scene) => {
      const { create, say, store } = scene;
      const one = await create("p_ann", [], { title: "Plan" });
      const two = await create("p_ann");
      // Messages alternate between two sessions: neighbours are from the same session.
      for (const [mine, theirs] of [
        ["before it", "x1"],
        ["a Needle in hay", "x2"],
        [`${"y".repeat(199)}🐎🐎`, "x3"],
      ] as const) {
        await say(one.id, user(mine, { at: T0 + 1 }));
        await say(two.id, user(theirs));
      }
      const check = async () => {
        const [hit, ...more] = await store.messages.searchMessages({
          asker: { person: "p_ann" },
          text: "needle",
        });
        assert.deepEqual(more, []);
        assert.deepEqual(hit, {
          session: one.id,
          handle: one.handle,
          title: "Plan",
          seq: 2,
          at: T0 + 1,
          role: "user",
          snippet: "a >>>Needle<<< in hay",
          before: { role: "user", text: "before it" },
          after: { role: "user", text: "y".repeat(199) },
        });
      };
      await check();
      await scene.waitUntilIdle();
      await check();
      const [first] = await store.messages.searchMessages({ asker: EVERYONE, text: "before" });
      assert.equal(first?.before, undefined);
    });

    rule("does not find undone messages, unless requested", async (scene) => {
      const { create, reshape } = scene;
      const { id } = await create("p_ann", ["apple", "pear", "plum", "cherry"]);
      await reshape(id, { kind: "undo" });
      await checkBothWays(scene, async (seqs) => {
        assert.deepEqual(await seqs({ text: "plum" }), []);
        assert.deepEqual(await seqs({ text: "plum", undone: true }), [3]);
        assert.deepEqual(await seqs({ text: "apple" }), [1]);
      });
      await reshape(id, { kind: "redo" });
      assert.deepEqual(
        formatHits(await scene.store.messages.searchMessages({ asker: EVERYONE, text: "plum" })),
        [`${id} 3`],
      );
    });

    rule("still finds messages that a summary replaced", async (scene) => {
      const { create, reshape } = scene;
      const { id } = await create("p_ann", ["apple", "pear", "plum", "cherry"]);
      await reshape(id, { kind: "compress", summary: assistant("fruit"), keepLast: 0 });
      await checkBothWays(scene, async (seqs) => {
        assert.deepEqual(await seqs({ text: "apple" }), [1]);
        assert.deepEqual(await seqs({ text: "fruit" }), [5]);
      });
    });

    rule(
      "finds in a fork the messages that it shows, also if they were undone in its origin",
      async (scene) => {
        const { create, fork, say, reshape, store } = scene;
        const { id } = await create("p_ann", ["apple", "pear"]);
        const copy = await fork(id);
        await say(copy.id, user("plum"));
        const found = async (words: string, session?: string) =>
          formatHits(
            await store.messages.searchMessages({
              asker: EVERYONE,
              text: words,
              ...(session !== undefined && { session }),
            }),
          );
        assert.deepEqual(await found("apple"), [`${id} 1`]);
        assert.deepEqual(await found("apple", copy.id), [`${copy.id} 1`]);
        assert.deepEqual(await found("plum", id), []);
        await reshape(id, { kind: "undo" });
        await scene.waitUntilIdle();
        assert.deepEqual(await found("apple"), [`${copy.id} 1`]);
        assert.deepEqual(await found("apple", copy.id), [`${copy.id} 1`]);
        assert.deepEqual(await found("apple", id), []);
      },
    );

    rule("never finds messages that the asker or the readers of the chat may not see", async (scene) => {
      const { create, talk, store } = scene;
      await create("p_bob", ["secret bob"]);
      const own = await create("p_ann", ["secret private"]);
      const said = await talk(inGroup("ann"), "secret public", "ok", { person: "p_ann" });
      const found = async (asker: SearchRequest["asker"], more: Partial<SearchRequest> = {}) =>
        formatHits(await store.messages.searchMessages({ asker, text: "secret", ...more }));
      for (const when of [() => Promise.resolve(), () => scene.waitUntilIdle()]) {
        await when();
        assert.deepEqual(await found({ person: "p_ann" }), [`${own.id} 1`, `${said.id} 1`].toSorted());
        assert.deepEqual(await found({ person: "p_ann", chat: "chat:telegram:-100" }), [`${said.id} 1`]);
        assert.deepEqual(await found({ person: "p_carl", chat: "chat:telegram:-100" }), []);
        assert.deepEqual(await found({ person: "p_carl" }), []);
        assert.deepEqual(await found({ person: "p_bob" }, { session: own.id }), []);
        assert.equal((await found(EVERYONE)).length, 3);
      }
    });

    rule("skips the output of tools", async (scene) => {
      const { id } = await scene.create("p_ann", ["needle"]);
      await scene.say(id, { role: "tool", parts: [textPart("needle in the log")], toolCallId: "c1" });
      await scene.say(id, { role: "note", parts: [textPart("needle noted")] });
      await checkBothWays(scene, async (seqs) => {
        assert.deepEqual(await seqs({ text: "needle" }), [1]);
      });
    });

    rule("returns nothing for an empty query, and never throws", async (scene) => {
      await scene.create("p_ann", ["hello world", "a AND OR b {test} (problem"]);
      await scene.waitUntilIdle();
      const hostile = [
        "",
        "   ",
        '"',
        '""',
        '"unterminated',
        "(problem",
        "{test}",
        "***",
        "*",
        "-",
        "-hello",
        "NOT hello",
        "OR",
        "AND OR NOT",
        "hello OR",
        "a AND OR b",
        "NEAR(a b)",
        "col:hello",
        "words:hello",
        "hello^2",
        "'; drop table words; --",
        "\u0000",
        "\ud800",
        "🐎",
        "%_\\",
        "x".repeat(100_000),
        "word ".repeat(10_000),
        '"'.repeat(999),
        "(".repeat(999),
      ];
      for (const query of hostile) {
        const hits = await scene.store.messages.searchMessages({ asker: EVERYONE, text: query });
        assert.ok(Array.isArray(hits), query.slice(0, 40));
        if (query.trim() === "" || /^[^\p{L}\p{N}]*$/u.test(query)) assert.deepEqual(hits, []);
      }
      assert.equal(
        (await scene.store.messages.searchMessages({ asker: EVERYONE, text: "(problem" })).length,
        1,
      );
    });

    rule("supports a limit and an offset", async (scene) => {
      const { id } = await scene.create("p_ann");
      await scene.say(id, ...Array.from({ length: 30 }, (_, index) => user(`needle ${index}`)));
      await scene.waitUntilIdle();
      const found = async (range: { limit?: number; offset?: number }) =>
        (await scene.store.messages.searchMessages({ asker: EVERYONE, text: "needle", ...range })).map(
          (hit) => hit.seq,
        );
      assert.equal((await found({})).length, 20);
      const [first, second] = [await found({ limit: 12 }), await found({ limit: 99, offset: 12 })];
      assert.deepEqual([first.length, second.length], [12, 18]);
      assert.equal(new Set([...first, ...second]).size, 30);
    });

    rule("finds a new message at once, and the same after indexing", async (scene) => {
      const { id } = await scene.create("p_ann");
      const lines = Array.from({ length: 200 }, (_, index) =>
        user(index % 3 === 0 ? `needle ${index}` : "hay"),
      );
      await scene.say(id, ...lines);
      const found = async () =>
        formatHits(
          await scene.store.messages.searchMessages({ asker: EVERYONE, text: "needle", limit: 200 }),
        );
      const fresh = await found();
      assert.equal(fresh.length, 67);
      await scene.waitUntilIdle();
      await scene.say(id, user("needle at last"));
      assert.deepEqual(await found(), [...fresh, `${id} 201`].toSorted());
      await scene.reopen();
      assert.deepEqual(await found(), [...fresh, `${id} 201`].toSorted());
    });

    rule("does not find removed sessions, indexed or not", async (scene) => {
      const early = await scene.create("p_ann", ["needle early"]);
      await scene.waitUntilIdle();
      const late = await scene.create("p_ann", ["needle late"]);
      assert.equal(
        (await scene.store.messages.searchMessages({ asker: EVERYONE, text: "needle" })).length,
        2,
      );
      for (const session of [early.id, late.id]) {
        assert.equal(await scene.store.sessions.remove({ asker: EVERYONE, session, now: T0 }), true);
      }
      assert.deepEqual(
        await scene.store.messages.searchMessages({ asker: EVERYONE, text: "needle", undone: true }),
        [],
      );
    });
  });
}

function formatHits(hits: readonly Hit[]): string[] {
  return hits.map(({ session, seq }) => `${session} ${seq}`).toSorted();
}

/** The results must be equal before and after indexing. */
async function checkBothWays(
  scene: Scene,
  check: (seqs: (request: Omit<SearchRequest, "asker">) => Promise<number[]>) => Promise<void>,
): Promise<void> {
  const seqs = async (request: Omit<SearchRequest, "asker">): Promise<number[]> =>
    (await scene.store.messages.searchMessages({ asker: EVERYONE, ...request }))
      .map((hit) => hit.seq)
      .toSorted((a, b) => a - b);
  await check(seqs);
  await scene.waitUntilIdle();
  await check(seqs);
  await scene.reopen();
  await check(seqs);
}
