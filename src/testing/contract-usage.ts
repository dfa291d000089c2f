import assert from "node:assert/strict";
import type { Asker } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { ImportedSession } from "../core/transfer.ts";
import {
  addUsage,
  emptyUsage,
  sumByPurpose,
  sumUsage,
  type Usage,
  type UsageDelta,
  type UsageEntry,
  type UsagePurpose,
} from "../core/usage.ts";
import {
  ANN,
  assertRefused,
  assistant,
  BOB,
  createRemoteRunner,
  DAY,
  EVERYONE,
  HOUR,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const QUARTER = 15 * 60_000;
const FOUR = ["one", "two", "three", "four"];

/** Usage is counted once, under its purpose, and all sums agree. */
export function defineUsageRules({ describe }: TestApi, rule: StoreRule): void {
  describe("usage", () => {
    rule(
      "of every request is counted under its purpose, and the session's counters are the sum",
      async (scene) => {
        const { id, reports } = await useForEverything(scene);
        await scene.reopen();
        const entries = requireValue(
          await scene.store.sessions.listUsageEntries({ asker: EVERYONE, session: id }),
        );
        for (const { purpose, usage } of sumByPurpose(entries))
          assert.deepEqual(pickCounts(usage), pickCounts(sumUsage(reports[purpose])), purpose);
        assert.deepEqual(
          sumByPurpose(entries).map(({ purpose }) => purpose),
          ["answer", "title", "flush", "compress"],
        );
        const { usage } = await scene.get(id);
        assert.deepEqual(pickCounts(usage), pickCounts(sumUsage(Object.values(reports).flat())));
      },
    );

    rule("sets the size of the last prompt only from answers", async (scene) => {
      const { id, turn } = await startTurn(scene);
      const usage = { inputTokens: 7, lastPromptTokens: 900 };
      await scene.finish(turn, "answer", { usage: { ...usage, lastPromptTokens: 500 } });
      const asked = { usage, now: T0 };
      const title = { asker: EVERYONE, session: id, title: "T", numbered: true, asked };
      throwIfRefused(await scene.store.sessions.setTitle(title));
      await recordUsage(scene, id, "title", usage);
      await recordUsage(scene, id, "flush", usage);
      assert.equal((await scene.get(id)).usage.lastPromptTokens, 500);
      await recordUsage(scene, id, "compress", { inputTokens: 7, lastPromptTokens: 0 });
      assert.equal((await scene.get(id)).usage.lastPromptTokens, 0);
    });

    rule("is stored with the messages of a turn that does not end", async (scene) => {
      const { id, turn } = await startTurn(scene);
      const ask = { asker: EVERYONE, session: id, fence: turn.fence };
      const messages = [assistant("I look.")];
      throwIfRefused(
        await scene.store.messages.append({ ...ask, messages, usage: { inputTokens: 5 }, now: T0 }),
      );
      await scene.store.runners.retire({ runner: "r1" });
      const again = requireValue(await scene.claim(id, "r2"));
      const late = await scene.store.messages.append({
        ...ask,
        messages,
        usage: { inputTokens: 100 },
        now: T0,
      });
      assertRefused(late, "stale_fence");
      await scene.finish(again, "answer", { usage: { inputTokens: 30 } });
      assert.equal((await scene.get(id)).usage.inputTokens, 35);
      assert.deepEqual(await countTokensByPurpose(scene, id), { answer: 35 });
    });

    rule("of a proposed title is counted even if a title exists", async (scene) => {
      const { id } = await scene.create("p_ann", [], { title: "mine" });
      const title = { asker: EVERYONE, session: id, title: "other", numbered: true, ifUntitled: true };
      const asked = { usage: { inputTokens: 3 }, now: T0 };
      const after = throwIfRefused(await scene.store.sessions.setTitle({ ...title, titleUsage: asked }));
      assert.deepEqual([after.title, after.usage.inputTokens], ["mine", 3]);
      assert.deepEqual(await countTokensByPurpose(scene, id), { title: 3 });
    });

    rule("is separate by time, purpose and model, and added up if all are equal", async (scene) => {
      const { id } = await scene.create("p_ann");
      const use = (purpose: UsagePurpose, model: string, now: number) =>
        recordUsage(scene, id, purpose, { inputTokens: 1, model, provider: "p" }, now);
      await use("answer", "a", T0);
      await use("answer", "a", T0 + 1);
      await use("answer", "b", T0);
      await use("title", "a", T0);
      await use("answer", "a", T0 + QUARTER);
      const entries = requireValue(
        await scene.store.sessions.listUsageEntries({ asker: EVERYONE, session: id }),
      );
      const began = T0 - (T0 % QUARTER);
      assert.deepEqual(
        entries.map(({ at, purpose, usage }) => [at - began, purpose, usage.model, usage.inputTokens]),
        [
          [0, "answer", "a", 2],
          [0, "answer", "b", 1],
          [0, "title", "a", 1],
          [QUARTER, "answer", "a", 1],
        ],
      );
      assert.equal(
        await scene.store.sessions.listUsageEntries({ asker: { person: "p_bob" }, session: id }),
        undefined,
      );
      assert.equal(
        await scene.store.sessions.listUsageEntries({ asker: EVERYONE, session: "nowhere" }),
        undefined,
      );
    });

    rule("of a person is the sum of their sessions, and the sum of their days", async (scene) => {
      const ann = await scene.talk(ANN, "hello", "hi");
      const more = await scene.create(ann.owner, ["hello"]);
      const bob = await scene.talk({ ...BOB, platform: "signal" }, "hello", "hi");
      await recordUsage(scene, ann.id, "answer", { inputTokens: 1, costUsd: 1, costStatus: "actual" }, T0);
      await recordUsage(
        scene,
        more.id,
        "title",
        { inputTokens: 20, costUsd: 1, costStatus: "estimated" },
        T0 + DAY,
      );
      // No message on that day, but a model request.
      await recordUsage(
        scene,
        ann.id,
        "flush",
        { inputTokens: 300, costUsd: 1, costStatus: "actual" },
        T0 + 2 * DAY,
      );
      await recordUsage(scene, bob.id, "compress", { inputTokens: 4000 }, T0 + DAY);
      const sums = async (asker: Asker, since: number, platform?: string) => {
        const where = platform === undefined ? {} : { platform };
        const found = await scene.store.sessions.getInsights({ asker, since, zone: "UTC", ...where });
        for (const parts of [found.usageByPurpose, found.usageByDay])
          assert.deepEqual(sumUsage(parts.map(({ usage }) => usage)), found.usage);
        return found;
      };
      const hers = await sums({ person: ann.owner }, T0);
      assert.deepEqual([hers.usage.inputTokens, hers.usage.costUsd], [321, 3]);
      assert.equal(hers.usage.costStatus, "estimated");
      assert.deepEqual(
        hers.usageByDay.map(({ day, usage }) => [day, usage.inputTokens, usage.costStatus]),
        [
          ["2026-03-15", 1, "actual"],
          ["2026-03-16", 20, "estimated"],
          ["2026-03-17", 300, "actual"],
        ],
      );
      const all = await sums(EVERYONE, T0);
      assert.deepEqual([all.usage.inputTokens, all.usage.costStatus], [4321, "partial"]);
      assert.deepEqual(
        all.usageByPurpose.map(({ purpose, usage }) => [purpose, usage.inputTokens]),
        [
          ["answer", 1],
          ["title", 20],
          ["flush", 300],
          ["compress", 4000],
        ],
      );
      assert.equal((await sums(EVERYONE, T0 + HOUR)).usage.inputTokens, 4320);
      assert.equal((await sums(EVERYONE, T0, "signal")).usage.inputTokens, 4000);
      assert.equal((await sums({ person: bob.owner }, T0)).usage.inputTokens, 4000);
      assert.equal((await sums(EVERYONE, T0 + 3 * DAY)).usage.totalTokens, 0);
    });

    rule("starts at zero in a fork, and stays with the session it was forked from", async (scene) => {
      const { id } = await scene.create("p_ann", FOUR);
      await recordUsage(scene, id, "answer", { inputTokens: 5 });
      const fork = await scene.fork(id);
      assert.equal(fork.usage.totalTokens, 0);
      assert.deepEqual(
        await scene.store.sessions.listUsageEntries({ asker: EVERYONE, session: fork.id }),
        [],
      );
      await recordUsage(scene, fork.id, "answer", { inputTokens: 30 });
      const { usage } = await scene.store.sessions.getInsights({ asker: { person: "p_ann" }, since: T0 });
      assert.equal(usage.inputTokens, 35);
    });

    rule("is deleted with its session, even if a fork still shows its messages", async (scene) => {
      const { id } = await scene.create("p_ann", FOUR);
      await recordUsage(scene, id, "answer", { inputTokens: 5 });
      const fork = await scene.fork(id);
      await recordUsage(scene, fork.id, "title", { inputTokens: 30 });
      throwIfRefused(await scene.store.sessions.remove({ asker: EVERYONE, session: id, now: T0 }));
      const sum = async () =>
        (await scene.store.sessions.getInsights({ asker: EVERYONE, since: T0 })).usage.inputTokens;
      assert.equal(await sum(), 30);
      throwIfRefused(await scene.store.sessions.remove({ asker: EVERYONE, session: fork.id, now: T0 }));
      assert.equal(await sum(), 0);
    });

    rule("is erased with its person", async (scene) => {
      const ann = await scene.talk(ANN, "hello", "hi");
      const bob = await scene.talk(BOB, "hello", "hi");
      await recordUsage(scene, ann.id, "answer", { inputTokens: 5 });
      await recordUsage(scene, bob.id, "answer", { inputTokens: 30 });
      const person = { person: ann.owner, limit: 9, now: T0 };
      for (let step = throwIfRefused(await scene.store.access.erasePerson(person)); !step.done; )
        step = throwIfRefused(await scene.store.access.erasePerson({ ...person, ...step }));
      const { usage } = await scene.store.sessions.getInsights({ asker: EVERYONE, since: T0 });
      assert.equal(usage.inputTokens, 30);
    });

    rule(
      "of an imported session equals its counters, with its entries or as answers of its last day",
      async (scene) => {
        const used = (purpose: UsagePurpose, at: number, delta: UsageDelta): UsageEntry => ({
          at,
          purpose,
          usage: addUsage(emptyUsage(), delta),
        });
        const parts = [
          used("answer", T0 - 2 * DAY, { inputTokens: 5, costUsd: 0.5, costStatus: "actual", model: "m" }),
          used("title", T0 - DAY, { inputTokens: 30, costUsd: 0.25, costStatus: "estimated", provider: "p" }),
        ];
        const usage = sumUsage(parts.map((part) => part.usage));
        const whole = throwIfRefused(
          await scene.store.sessions.importSession({ ...buildImport("whole", usage), usageEntries: parts }),
        );
        assert.deepEqual(whole.usage, usage);
        assert.deepEqual(await countTokensByPurpose(scene, "whole"), { answer: 5, title: 30 });
        throwIfRefused(await scene.store.sessions.importSession(buildImport("bare", usage)));
        const [only, ...others] = requireValue(
          await scene.store.sessions.listUsageEntries({ asker: EVERYONE, session: "bare" }),
        );
        assert.deepEqual(others, []);
        const at = T0 - DAY;
        assert.deepEqual([only?.at, only?.purpose], [at - (at % QUARTER), "answer"]);
        assert.deepEqual(only?.usage, usage);
        const newer = { ...usage, inputTokens: 50, totalTokens: 50 };
        const grown = { profile: "main", session: "whole", after: 1, messages: [], blobs: [], now: T0 };
        throwIfRefused(await scene.store.sessions.importMessages({ ...grown, usage: newer }));
        assert.deepEqual((await scene.get("whole")).usage, newer);
        assert.deepEqual(await countTokensByPurpose(scene, "whole"), { answer: 50 });
      },
    );
  });
}

type Reports = Record<UsagePurpose, UsageDelta[]>;

/** Two answers, a title, a summary and a flush of one session, each stored by its own operation. */
async function useForEverything(scene: Scene): Promise<{ id: string; reports: Reports }> {
  let count = 0;
  const report = (): UsageDelta => {
    count += 1;
    return {
      inputTokens: count,
      outputTokens: 10 * count,
      cacheReadTokens: 100 * count,
      cacheWriteTokens: 1000 * count,
      reasoningTokens: 10_000 * count,
      model: `m${count % 2}`,
      provider: "p",
    };
  };
  const reports: Reports = {
    answer: [report(), report()],
    title: [report()],
    flush: [report(), report()],
    compress: [report(), report()],
  };
  const [first = {}, second = {}] = reports.answer;
  const { id, turn } = await startTurn(scene);
  await scene.finish(turn, "a1", { usage: first });
  const turnTwo = await scene.begin(ANN, "q2", { now: T0 + HOUR });
  await scene.finish(turnTwo, "a2", { usage: second, now: T0 + HOUR });
  const ask = { asker: EVERYONE, session: id };
  const asked = { usage: reports.title[0] ?? {}, now: T0 };
  throwIfRefused(
    await scene.store.sessions.setTitle({
      ...ask,
      title: "T",
      numbered: true,
      ifUntitled: true,
      titleUsage: asked,
    }),
  );
  await recordUsage(scene, id, "compress", reports.compress[0] ?? {});
  const replaces = { count: 2, last: { session: id, seq: 2 } };
  const summary = { kind: "compress", summary: assistant("s"), replaces } as const;
  await scene.reshape(id, { ...summary, usage: reports.compress[1] ?? {} });
  await recordUsage(scene, id, "flush", reports.flush[0] ?? {});
  await scene.store.runners.recordHeartbeat({ runner: createRemoteRunner("r1"), now: T0 });
  await scene.store.memory.requestFlush({ session: id, now: T0 });
  const flush = requireValue(await scene.store.memory.claimFlush({ runner: "r1", now: T0 }));
  const done = { flush: flush.number, runner: "r1", changes: [], now: T0 + DAY };
  throwIfRefused(await scene.store.memory.finishFlush({ ...done, usage: reports.flush[1] ?? {} }));
  assertRefused(await scene.store.memory.finishFlush({ ...done, usage: { inputTokens: 1 } }), "stale_fence");
  return { id, reports };
}

async function startTurn(scene: Scene) {
  const turn = await scene.begin(ANN, "q1");
  return { id: turn.session, turn };
}

async function recordUsage(
  scene: Scene,
  session: string,
  purpose: UsagePurpose,
  usage: UsageDelta,
  now = T0,
) {
  return throwIfRefused(
    await scene.store.sessions.recordUsage({ asker: EVERYONE, session, purpose, usage, now }),
  );
}

/** Input tokens by purpose. */
async function countTokensByPurpose(
  scene: Scene,
  session: string,
): Promise<Partial<Record<UsagePurpose, number>>> {
  const entries = requireValue(await scene.store.sessions.listUsageEntries({ asker: EVERYONE, session }));
  const sums = sumByPurpose(entries);
  assert.equal(
    sumUsage(entries.map(({ usage }) => usage)).totalTokens,
    (await scene.get(session)).usage.totalTokens,
  );
  return Object.fromEntries(sums.map(({ purpose, usage }) => [purpose, usage.inputTokens]));
}

function pickCounts({ inputTokens, outputTokens, ...usage }: Usage) {
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens, totalTokens } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, totalTokens };
}

function buildImport(id: string, usage: Usage): ImportedSession & { readonly profile: string } {
  return {
    profile: "main",
    session: { id, kind: "chat", owner: "p_ann" },
    usage,
    createdAt: T0 - 3 * DAY,
    messages: [{ ...user("hello"), at: T0 - DAY }],
    blobs: [],
    shows: [{ from: 1, to: 1 }],
    hidden: [],
    now: T0,
  };
}
