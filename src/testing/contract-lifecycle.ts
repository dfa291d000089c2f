import assert from "node:assert/strict";
import { textPart } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { ImportedSession } from "../core/transfer.ts";
import { emptyUsage } from "../core/usage.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  assistant,
  DAY,
  EVERYONE,
  readTexts,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const ann = { person: "p_ann" };

/** Pruning, importing, listeners and closing. */
export function defineLifecycleRules({ describe }: TestApi, rule: StoreRule): void {
  describe("pruning", () => {
    rule("removes only ended sessions that were last used before the given time", async (scene) => {
      const [old, open, recent] = [
        await createOldSession(scene, 100),
        await createOldSession(scene, 100, { ended: false }),
        await createOldSession(scene, 10),
      ];
      const prune = { asker: EVERYONE, before: T0 - 90 * DAY, now: T0 };
      const told = await scene.store.sessions.prune({ ...prune, dryRun: true });
      assert.deepEqual(
        told.map((session) => session.id),
        [old],
      );
      assert.equal((await scene.store.sessions.querySessions({ asker: EVERYONE })).items.length, 3);
      const gone = await scene.store.sessions.prune({ ...prune, dryRun: false });
      assert.deepEqual(
        gone.map((session) => session.id),
        [old],
      );
      const left = (await scene.store.sessions.querySessions({ asker: EVERYONE })).items.map(
        (session) => session.id,
      );
      assert.deepEqual(left.toSorted(), [open, recent].toSorted());
      assert.deepEqual(await scene.store.sessions.prune({ ...prune, dryRun: false }), []);
    });

    rule(
      "filters by platform, kinds and owner, and removes the oldest first up to the limit",
      async (scene) => {
        const telegram = await createOldSession(scene, 100, { platform: "telegram" });
        const job = await createOldSession(scene, 120, { kind: "job" });
        const bobs = await createOldSession(scene, 110, { owner: "p_bob" });
        const pruned = async (more: Partial<Parameters<typeof scene.store.sessions.prune>[0]>) => {
          const input = { asker: EVERYONE, before: T0, dryRun: true, now: T0, ...more };
          return (await scene.store.sessions.prune(input)).map((session) => session.id);
        };
        assert.deepEqual(await pruned({}), [job, bobs, telegram]);
        assert.deepEqual(await pruned({ limit: 2 }), [job, bobs]);
        assert.deepEqual(await pruned({ platform: "telegram" }), [telegram]);
        assert.deepEqual(await pruned({ kinds: ["job", "webhook"] }), [job]);
        assert.deepEqual(await pruned({ kinds: [] }), []);
        assert.deepEqual(await pruned({ asker: { person: "p_bob" } }), [bobs]);
      },
    );

    rule("keeps a session with a running turn, even if its conversation has left", async (scene) => {
      const { begin, beat, finish, open, store, shows } = scene;
      await beat("r1");
      const turn = await begin(ANN, "a long question");
      await open(ANN, { fresh: true });
      const prune = { asker: EVERYONE, before: T0 + DAY, dryRun: false, now: T0 + DAY };
      assert.deepEqual(await store.sessions.prune(prune), []);
      await finish(turn, "a long answer");
      assert.deepEqual(await shows(turn.session), ["a long question", "a long answer"]);
      assert.equal((await store.sessions.prune(prune)).length, 1);
    });

    rule("removes parents and forks", async (scene) => {
      const parent = await createOldSession(scene, 100);
      const fork = await scene.fork(parent);
      const prune = { asker: EVERYONE, before: T0 + DAY, dryRun: false, now: T0 };
      assert.equal((await scene.store.sessions.prune(prune)).length, 1);
      assert.deepEqual(await scene.shows(fork.id), ["old"]);
      throwIfRefused(
        await scene.store.sessions.change({ asker: ann, session: fork.id, change: { ended: true }, now: T0 }),
      );
      assert.equal((await scene.store.sessions.prune(prune)).length, 1);
      assert.equal((await scene.store.sessions.getStats({ asker: EVERYONE })).sessions, 0);
    });
  });

  describe("importing", () => {
    const whole: ImportedSession & { profile: string } = {
      profile: "main",
      session: { id: "imported", kind: "chat", owner: "p_ann", title: "Plan", model: "m", config: { a: 1 } },
      audience: "chat:telegram:-100",
      origin: ANN,
      displayName: "Riders",
      usage: { ...emptyUsage(), inputTokens: 5, totalTokens: 5, costUsd: 0.5, model: "m" },
      createdAt: T0 - 10 * DAY,
      endedAt: T0 - DAY,
      endReason: "idle",
      archivedAt: T0,
      parent: "elsewhere",
      messages: [
        { ...user("q1"), at: T0 - 9 * DAY },
        { ...assistant("a1", { reasoning: "r" }), at: T0 - 8 * DAY },
        { ...user("q2"), at: T0 - 7 * DAY },
        { ...assistant("a2"), at: T0 - 6 * DAY },
      ],
      blobs: [],
      shows: [
        { from: 4, to: 4 },
        { from: 1, to: 2 },
      ],
      hidden: [{ from: 3, to: 3 }],
      now: T0,
    };

    rule("stores the complete session with its view and hidden messages", async (scene) => {
      const session = throwIfRefused(await scene.store.sessions.importSession(whole));
      assert.deepEqual(session, {
        id: "imported",
        handle: session.handle,
        kind: "chat",
        profile: "main",
        owner: "p_ann",
        audience: "chat:telegram:-100",
        title: "Plan",
        origin: ANN,
        displayName: "Riders",
        config: { a: 1 },
        usage: whole.usage,
        messageCount: 4,
        humanCount: 2,
        toolCallCount: 0,
        createdAt: T0 - 10 * DAY,
        lastAt: T0 - 6 * DAY,
        endedAt: T0 - DAY,
        endReason: "idle",
        archivedAt: T0,
        parent: "elsewhere",
      });
      await scene.reopen();
      const ask = { asker: ann, session: "imported" };
      assert.deepEqual(await scene.shows("imported"), ["a2", "q1", "a1"]);
      assert.deepEqual(
        (await scene.store.messages.listMessages(ask))?.map(({ at }) => at),
        whole.messages.map(({ at }) => at),
      );
      assert.deepEqual((await scene.store.messages.getViewRanges(ask))?.hidden, whole.hidden);
      assert.deepEqual(await scene.store.messages.searchMessages({ asker: ann, text: "q2" }), []);
      await scene.say("imported", user("q3"));
      assert.deepEqual(await scene.shows("imported"), ["a2", "q1", "a1", "q3"]);
    });

    rule("of a session without a view shows all messages", async ({ store, shows }) => {
      const plain = { ...whole, shows: [{ from: 1, to: 4 }], hidden: [] };
      throwIfRefused(await store.sessions.importSession(plain));
      assert.deepEqual(await shows("imported"), ["q1", "a1", "q2", "a2"]);
      assert.deepEqual(await store.messages.listVersions({ asker: ann, session: "imported" }), []);
    });

    rule("refuses an existing id, and numbers an existing title", async ({ store, create, get }) => {
      await create("p_ann", [], { title: "Plan" });
      assert.equal(throwIfRefused(await store.sessions.importSession(whole)).title, "Plan #2");
      assertRefused(await store.sessions.importSession(whole), "invalid_input");
      assert.equal((await get("imported")).messageCount, 4);
    });

    rule("refuses a view of missing messages, and stores nothing", async ({ store }) => {
      await assertRejects(
        store.sessions.importSession({ ...whole, shows: [{ from: 1, to: 5 }] }),
        "invalid_input",
      );
      const image = { type: "image" as const, blob: "ab".repeat(32), mimeType: "image/png", size: 1 };
      const messages = [{ role: "user" as const, parts: [textPart("see"), image], at: T0 }];
      await assertRejects(
        store.sessions.importSession({ ...whole, messages, shows: [{ from: 1, to: 1 }], hidden: [] }),
        "invalid_input",
      );
      assert.equal((await store.sessions.getStats({ asker: EVERYONE })).sessions, 0);
    });
  });

  describe("the store itself", () => {
    rule("calls its listeners after each commit, until they stop", async ({ store, create, shows }) => {
      const { id } = await create("p_ann");
      const seen: Promise<string[]>[] = [];
      const stop = store.onChange(() => seen.push(shows(id)));
      const stopOther = store.onChange(() => {});
      throwIfRefused(
        await store.messages.append({ asker: ann, session: id, messages: [user("hello")], now: T0 }),
      );
      assert.deepEqual(await seen[0], ["hello"], "the stored message can be read");
      stop();
      const before = seen.length;
      throwIfRefused(
        await store.messages.append({ asker: ann, session: id, messages: [user("more")], now: T0 }),
      );
      assert.equal(seen.length, before);
      stopOther();
      stop();
    });

    rule("answers reads during writes", async ({ create, store, say }) => {
      const { id } = await create("p_ann", ["hello"]);
      const writes = Array.from({ length: 100 }, (_, index) => say(id, user(`needle ${index}`)));
      const lengths: number[] = [];
      for (let times = 0; times < 10; times++) {
        lengths.push(readTexts(await store.messages.readHistory({ asker: ann, session: id })).length);
        const hits = await store.messages.searchMessages({ asker: ann, text: "needle", limit: 200 });
        const { items } = await store.sessions.querySessions({ asker: ann });
        assert.ok(hits.length <= 100);
        assert.equal(items.length, 1);
      }
      assert.deepEqual(
        lengths,
        lengths.toSorted((a, b) => a - b),
      );
      await Promise.all(writes);
      assert.equal(readTexts(await store.messages.readHistory({ asker: ann, session: id })).length, 101);
    });

    rule("completes pending calls before it closes, and rejects later ones", async (scene) => {
      const { id } = await scene.create("p_ann");
      const { store } = scene;
      const input = { asker: ann, session: id, messages: [user("last words")], now: T0 };
      const under = store.messages.append(input);
      const reading = store.messages.readHistory({ asker: ann, session: id });
      await store.close();
      assert.deepEqual(throwIfRefused(await under).seqs, [1]);
      assert.ok((await reading) !== undefined);
      await assertRejects(store.messages.append(input), "closed");
      await assertRejects(store.messages.readHistory({ asker: ann, session: id }), "closed");
      await assertRejects(store.sessions.querySessions({ asker: ann }), "closed");
      await assertRejects(store.messages.searchMessages({ asker: ann, text: "words" }), "closed");
      await assertRejects(
        store.runners.recordHeartbeat({
          runner: { id: "r", host: "", boot: "", pid: 1, started: "" },
          now: T0,
        }),
        "closed",
      );
      await store.close();
      await scene.reopen();
      assert.deepEqual(await scene.shows(id), ["last words"]);
    });
  });
}

/** A session that was last used `days` ago. */
async function createOldSession(
  { store, newId }: Scene,
  days: number,
  more: { ended?: boolean; kind?: "chat" | "job"; owner?: string; platform?: string } = {},
): Promise<string> {
  const { ended = true, kind = "chat", owner = "p_ann", platform } = more;
  const at = T0 - days * DAY;
  const session = await store.sessions.importSession({
    profile: "main",
    session: { id: newId(), kind, owner },
    ...(platform !== undefined && { origin: { ...ANN, platform } }),
    usage: emptyUsage(),
    createdAt: at,
    ...(ended && { endedAt: at, endReason: "new" }),
    messages: [{ ...user("old"), at }],
    blobs: [],
    shows: [{ from: 1, to: 1 }],
    hidden: [],
    now: T0,
  });
  return throwIfRefused(session).id;
}
