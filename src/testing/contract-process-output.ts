import assert from "node:assert/strict";
import { KEPT_OUTPUT } from "../core/process.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  appendTestOutput,
  beginTestProcess,
  buildProcessId,
  createProcessOrigin,
  endTestProcess,
  markTestProcessRunning,
  readTestOutput,
  startTestProcess,
} from "./process-scene.ts";
import { assertRefused, EVERYONE, requireValue, type StoreRule, T0, type TestApi } from "./scene.ts";

/** The kept output of processes, exact to the character. */
export function defineProcessOutputRules({ describe }: TestApi, rule: StoreRule): void {
  describe("the output of a process", () => {
    rule("is stored in order, and can be read in parts", async (scene) => {
      const { id } = await startTestProcess(scene);
      assert.deepEqual(await readTestOutput(scene, id), { text: "", from: 0, total: 0 });
      await appendTestOutput(scene, id, 0, "one\n");
      await appendTestOutput(scene, id, 4, "two\n");
      assert.deepEqual(await readTestOutput(scene, id), { text: "one\ntwo\n", from: 0, total: 8 });
      assert.deepEqual(await readTestOutput(scene, id, { from: 2 }), { text: "e\ntwo\n", from: 2, total: 8 });
      assert.deepEqual(await readTestOutput(scene, id, { from: 2, limit: 3 }), {
        text: "e\nt",
        from: 2,
        total: 8,
      });
      assert.deepEqual(await readTestOutput(scene, id, { limit: 3 }), { text: "wo\n", from: 5, total: 8 });
      assert.deepEqual(await readTestOutput(scene, id, { from: 8 }), { text: "", from: 8, total: 8 });
      assert.deepEqual(await readTestOutput(scene, id, { from: 99 }), { text: "", from: 99, total: 8 });
      await scene.reopen();
      await scene.store.processes.endProcess({
        id,
        exit: { code: 0 },
        output: { from: 8, text: "three\n" },
        now: T0,
      });
      assert.deepEqual(await readTestOutput(scene, id, { from: 8 }), { text: "three\n", from: 8, total: 14 });
      assert.equal(requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id })).total, 14);
    });

    rule("is accepted only from its keeper, and while it runs", async (scene) => {
      const { id } = await startTestProcess(scene);
      const more = { id, from: 0, text: "words" };
      assertRefused(
        await scene.store.processes.appendProcessOutput({ ...more, keeper: "k2" }),
        "not_allowed",
      );
      assertRefused(
        await scene.store.processes.appendProcessOutput({ ...more, keeper: "k1", id: buildProcessId(9) }),
        "not_found",
      );
      await endTestProcess(scene, id);
      assertRefused(
        await scene.store.processes.appendProcessOutput({ ...more, keeper: "k1" }),
        "not_allowed",
      );
      assert.deepEqual(await readTestOutput(scene, id), { text: "", from: 0, total: 0 });
    });

    rule("is stored once, even if it is sent twice", async (scene) => {
      const { id } = await startTestProcess(scene);
      await appendTestOutput(scene, id, 0, "abc", ["abc"]);
      await appendTestOutput(scene, id, 0, "abc", ["abc"]);
      await appendTestOutput(scene, id, 1, "bcde");
      assert.deepEqual(await readTestOutput(scene, id), { text: "abcde", from: 0, total: 5 });
      assert.equal(
        requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id })).matches.count,
        1,
      );
    });

    rule("has gaps for missing parts, and keeps the offsets of the others", async (scene) => {
      const { id } = await startTestProcess(scene);
      await appendTestOutput(scene, id, 0, "before");
      await appendTestOutput(scene, id, 100, "after");
      assert.deepEqual(await readTestOutput(scene, id), { text: "after", from: 100, total: 105 });
      assert.deepEqual(await readTestOutput(scene, id, { from: 0 }), { text: "before", from: 0, total: 105 });
      assert.deepEqual(await readTestOutput(scene, id, { from: 6 }), {
        text: "after",
        from: 100,
        total: 105,
      });
    });

    rule("is cut to its end at the limit", async (scene) => {
      const { id } = await startTestProcess(scene);
      await appendTestOutput(scene, id, 0, "first");
      const long = `${"x".repeat(KEPT_OUTPUT)}last`;
      await appendTestOutput(scene, id, 5, long);
      const total = 5 + long.length;
      const kept = { text: long.slice(-KEPT_OUTPUT), from: total - KEPT_OUTPUT, total };
      assert.deepEqual(await readTestOutput(scene, id), kept);
      assert.deepEqual(await readTestOutput(scene, id, { from: 0 }), kept);
    });

    rule("includes the number of matching lines, and the newest eight", async (scene) => {
      const { id } = await startTestProcess(scene);
      await appendTestOutput(scene, id, 0, "ab", ["one", "two"]);
      await appendTestOutput(scene, id, 2, "c", ["3", "4", "5", "6", "7", "8", "9", "10"]);
      await endTestProcess(scene, id, { from: 3, text: "d", matched: ["11"] });
      assert.deepEqual(
        requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id })).matches,
        {
          count: 11,
          lines: ["4", "5", "6", "7", "8", "9", "10", "11"],
        },
      );
    });

    rule("is the end of everything sent, for all ways of sending and reading", async (scene) => {
      const at = await createProcessOrigin(scene);
      for (let round = 1; round <= 12; round += 1) {
        const chance = createRandom(round);
        const { id } = throwIfRefused(await beginTestProcess(scene, at, { id: buildProcessId(round) }));
        await markTestProcessRunning(scene, id);
        const given = createChunks(chance);
        let all = "";
        for (const piece of given) {
          await appendTestOutput(scene, id, all.length, piece);
          all += piece;
        }
        const kept = trimHalfPairs(all.slice(-KEPT_OUTPUT));
        const last = requireValue(await readTestOutput(scene, id));
        assert.equal(last.total, all.length);
        assert.ok(last.text === kept.text, `round ${round}: the end of the output`);
        assert.equal(last.from, all.length - Math.min(all.length, KEPT_OUTPUT) + kept.skipped);
        const limit = 1 + chance(70_000);
        let read = "";
        for (let from = 0; ; ) {
          const part = requireValue(await readTestOutput(scene, id, { from, limit }));
          if (part.text === "") break;
          assert.ok(part.text.isWellFormed(), `round ${round}: half a character`);
          assert.ok(part.text.length <= Math.max(limit, 2));
          assert.equal(part.from, read === "" ? last.from : from, `round ${round}: no gap`);
          read += part.text;
          from = part.from + part.text.length;
        }
        assert.ok(read === kept.text, `round ${round}: read in parts of ${limit}`);
        const tail = requireValue(await readTestOutput(scene, id, { limit }));
        assert.ok(
          tail.text === trimHalfPairs(all.slice(-Math.min(limit, KEPT_OUTPUT))).text,
          `round ${round}: the last ${limit}`,
        );
        assert.equal(tail.from + tail.text.length, last.from + last.text.length);
        await endTestProcess(scene, id);
      }
    });
  });
}

/** Pseudo-random numbers below a limit, the same in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A text in many scripts, cut at any position, also within a surrogate pair. */
function createChunks(chance: (below: number) => number): string[] {
  const alphabet = ["a", "\n", "é", "字", "🐎", "👩‍🚀", "\u0000", "'"];
  const words = Array.from({ length: 499 }, () => alphabet[chance(alphabet.length)]).join("");
  let at = 0;
  return Array.from({ length: 1 + chance(12) }, () => {
    const length = [0, 1, 2, 7, 300, 5_000, 60_000, KEPT_OUTPUT, 2 * KEPT_OUTPUT][chance(9)] ?? 0;
    const start = at % words.length;
    at += length;
    return words.repeat(Math.ceil((start + length) / words.length)).slice(start, start + length);
  });
}

/** Without lone surrogates at its ends. */
function trimHalfPairs(text: string): { text: string; skipped: number } {
  const skipped = /^[\udc00-\udfff]/.test(text) ? 1 : 0;
  return { text: text.slice(skipped).replace(/[\ud800-\udbff]$/, ""), skipped };
}
