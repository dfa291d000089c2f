import assert from "node:assert/strict";
import type { NewDelivery } from "../core/delivery.ts";
import type { MemoryChange } from "../core/memory.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import { sumByPurpose } from "../core/usage.ts";
import { createRace, createRoundRule, ROUNDS, SEED } from "./race.ts";
import {
  ANN,
  assertRefused,
  dm,
  EVERYONE,
  MINUTE,
  readTexts,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

/** The bound of `onChange`. A busy machine may be slower once, so half of the rounds must keep it. */
const HEARD_MS = 250;
const NEVER_HEARD_MS = 10_000;

const R1 = { runner: "r1", take: "one" } as const;
const R2 = { runner: "r2", take: "one" } as const;
const toAnn: NewDelivery = { target: ANN, parts: [{ type: "text", text: "hi" }] };

/** Two stores on one database, as of two processes or machines, behave like one. */
export function defineTwoStoreRules({ describe }: TestApi, rule: StoreRule): void {
  const eachRound = createRoundRule(rule);

  describe("two stores on one database", () => {
    eachRound(
      "create one person, one conversation and one session at a first contact through both",
      async (one, two, race, round) => {
        const source = dm(`user${round}`);
        const contacts = await race.run(
          () => one.take(source, "one"),
          () => two.take(source, "two"),
          () => one.open(source),
          () => two.open(source),
        );
        const ids = contacts.map(({ session, conversation }) => [
          session.id,
          session.owner,
          conversation.number,
        ]);
        for (const id of ids) assert.deepEqual(id, ids[0]);
        const [session = ""] = requireValue(ids[0]) as string[];
        const pending = await two.store.inbox.listPending({ asker: EVERYONE, session });
        assert.equal(pending.length, 2);
        const { items } = await two.store.conversations.listConversations({ asker: EVERYONE, limit: 1000 });
        assert.equal(items.length, round + 1);
      },
    );

    eachRound("accept the same message once", async (one, two, race, round) => {
      const messageId = `same${round}`;
      const all = await race.run(
        () => one.accept(ANN, "hello", { messageId, claim: R1 }),
        () => two.accept(ANN, "hello", { messageId, claim: R2 }),
        () => two.accept(ANN, "hello", { messageId, claim: R2 }),
      );
      assert.deepEqual(all.map(({ duplicate }) => duplicate).toSorted(), [false, true, true]);
      assert.equal(new Set(all.map(({ inbox }) => inbox)).size, 1, "a duplicate names the stored message");
      const [turn, ...others] = all.flatMap((it) => ("turn" in it && it.turn !== undefined ? [it.turn] : []));
      assert.deepEqual(others, []);
      await one.finish(requireValue(turn), "hi");
    });

    eachRound("start one turn of a session that both claim", async (one, two, race, round) => {
      const { session } = await one.take(dm(`user${round}`), "hello");
      const claims = await race.run(
        () => one.store.turns.claim({ ...R1, session: session.id, now: T0 }),
        () => two.store.turns.claim({ ...R2, session: session.id, now: T0 }),
        () => two.store.turns.claim({ ...R2, session: session.id, now: T0 }),
      );
      assert.equal(claims.filter((turn) => turn !== undefined).length, 1);
      assert.deepEqual(await two.shows(session.id), ["hello"], "the input is stored once");
    });

    eachRound(
      "strand no message that one accepts while the other ends the turn",
      async (one, two, race, round) => {
        const source = dm(`user${round}`);
        const turn = await one.begin(source, "first");
        const isClaiming = race.pick(2) === 0;
        const [finished, accepted] = await race.run(
          () => one.finish(turn, "answer", { next: R1 }),
          () => two.take(source, "second", isClaiming ? { claim: R2 } : {}),
        );
        const begun = [finished.next, accepted.turn].filter((it) => it !== undefined);
        const next = begun[0] ?? requireValue(await two.claim(turn.session, "r2"));
        if (isClaiming) assert.equal(begun.length, 1, "one of the two starts it");
        assert.deepEqual(await one.shows(turn.session), ["first", "answer", "second"]);
        await two.finish(next, "last");
        assert.equal(await one.claim(turn.session), undefined, "nothing is left");
      },
    );

    eachRound(
      "let one of them end a turn: the runner, or the one that takes it over",
      async (one, two, race, round) => {
        const [old, fresh] = [`old${round}`, `fresh${round}`];
        for (const id of [old, fresh]) await one.beat(id);
        const claim = { runner: old, take: "one" } as const;
        const turn = requireValue((await one.take(dm(`user${round}`), "hello", { claim })).turn);
        await one.store.runners.retire({ runner: old });
        const { number, fence, session } = turn;
        const ending = { turn: number, fence, outcome: "done", now: T0 } as const;
        const [finished, taken] = await race.run(
          () => one.store.turns.finish({ ...ending, messages: [], usage: { inputTokens: 1 } }),
          () => two.store.turns.claim({ session, runner: fresh, take: "one", now: T0 }),
        );
        assert.equal(isRefused(finished), taken !== undefined);
        if (taken === undefined) return;
        assertRefused(finished, "stale_fence");
        assert.equal(taken.attempt, 2);
        assert.equal((await one.get(session)).usage.inputTokens, 0, "a refused write changes nothing");
      },
    );

    rule("add up the usage that both record, exactly", async (one) => {
      const two = await one.openSecond();
      const { id: session } = await one.create("p_ann");
      const race = createRace(SEED);
      let [inputTokens, calls] = [0, 0];
      const record = ({ store }: Scene) => {
        const tokens = 1 + race.pick(1000);
        inputTokens += tokens;
        calls += 1;
        const usage = { inputTokens: tokens, outputTokens: 1 };
        const request = { asker: EVERYONE, session, purpose: "compress", usage, now: T0 } as const;
        return () => store.sessions.recordUsage(request);
      };
      for (let round = 0; round < ROUNDS; round += 1) {
        const all = [record(one), record(two), record(one), record(two), record(two), record(one)];
        for (const recorded of await race.run(...all)) throwIfRefused(recorded);
      }
      const { usage } = await two.get(session);
      assert.deepEqual([usage.inputTokens, usage.outputTokens], [inputTokens, calls]);
      const entries = requireValue(await one.store.sessions.listUsageEntries({ asker: EVERYONE, session }));
      assert.equal(sumByPurpose(entries)[0]?.usage.inputTokens, inputTokens);
    });

    rule("append to one session without a gap, a repeated number or a lost message", async (one) => {
      const two = await one.openSecond();
      const { id: session } = await one.create("p_ann");
      const race = createRace(SEED);
      const said: string[] = [];
      const say = (scene: Scene) => {
        const words = `line ${said.length}`;
        said.push(words);
        return () => scene.say(session, user(words), user("and more"));
      };
      for (let round = 0; round < ROUNDS; round += 1) {
        const seqs = await race.run(say(one), say(two), say(two));
        for (const [first = 0, second] of seqs) assert.equal(second, first + 1, "one call stays together");
      }
      const all = requireValue(await two.store.messages.listMessages({ asker: EVERYONE, session }));
      assert.deepEqual(
        all.map(({ seq }) => seq),
        Array.from({ length: said.length * 2 }, (_, index) => index + 1),
      );
      const shown = readTexts(all).filter((words) => words !== "and more");
      assert.deepEqual(shown.toSorted(), said.toSorted());
      assert.equal((await one.get(session)).messageCount, all.length);
    });

    eachRound("undo in one either before or after an append in the other", async (one, two, race) => {
      const { id } = await one.create("p_ann", ["u1", "a1", "u2", "a2"]);
      const [undone] = await race.run(
        () => one.reshape(id, { kind: "undo" }),
        () => two.say(id, user("u3")),
      );
      const shown = await two.shows(id);
      const isAfter = undone.before === 5;
      assert.deepEqual(shown, isAfter ? ["u1", "a1", "u2", "a2"] : ["u1", "a1", "u3"]);
      assert.equal((await one.get(id)).messageCount, 5);
      await race.run(
        () => one.reshape(id, { kind: "undo" }),
        () => two.reshape(id, { kind: "undo" }),
      );
      assert.deepEqual(await one.shows(id), [], "both took effect");
    });

    eachRound("fork in one either before or after an append in the other", async (one, two, race) => {
      const lines = ["u1", "a1"];
      const { id } = await one.create("p_ann", lines);
      const [fork, other] = await race.run(
        () => one.fork(id),
        () => two.fork(id),
        () => two.say(id, user("u2")),
      );
      assert.deepEqual(await two.shows(id), [...lines, "u2"]);
      for (const { id: forked } of [fork, other]) {
        const shown = await two.shows(forked);
        assert.ok(["u1 a1", "u1 a1 u2"].includes(shown.join(" ")), shown.join(" "));
        await two.say(forked, user("u3"));
        assert.deepEqual(await one.shows(forked), [...shown, "u3"]);
      }
      assert.deepEqual(await one.shows(id), [...lines, "u2"], "the original is another session");
    });

    eachRound("give a title of one person to one session", async (one, two, race, round) => {
      const [first, second] = [await one.create("p_ann"), await one.create("p_ann")];
      const title = `Title ${round}`;
      const set =
        ({ store }: Scene, session: string) =>
        () =>
          store.sessions.setTitle({ asker: EVERYONE, session, title });
      const titled = await race.run(set(one, first.id), set(two, second.id));
      assert.equal(titled.filter((it) => !isRefused(it)).length, 1);
    });

    eachRound("keep every entry that both add to one memory", async (one, two, race, round) => {
      const owner = "p_ann";
      const add =
        ({ store }: Scene, text: string) =>
        () => {
          const change: MemoryChange = { action: "add", text };
          return store.memory.changeMemory({ owner, change, now: T0 });
        };
      for (const changed of await race.run(add(one, `${round} a`), add(two, `${round} b`)))
        throwIfRefused(changed);
      const { entries, version } = await two.store.memory.getMemory({ owner });
      assert.deepEqual([entries.length, version], [2 * round + 2, 2 * round + 2]);
    });

    rule("give a lease to one holder, under a fence that rises with each", async (one) => {
      const two = await one.openSecond();
      const race = createRace(SEED);
      const runners = ["r1", "r2", "r3", "r4"] as const;
      for (const id of runners) await one.beat(id);
      let last = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const acquire =
          ({ store }: Scene, runner: string) =>
          () =>
            store.runners.acquireLease({ name: "telegram", runner, ttlMs: MINUTE, now: T0 });
        const fences = await race.run(
          acquire(one, runners[0]),
          acquire(two, runners[1]),
          acquire(one, runners[2]),
          acquire(two, runners[3]),
        );
        const holders = runners.filter((_, index) => fences[index] !== undefined);
        assert.equal(holders.length, 1);
        const [holder = ""] = holders;
        const fence = requireValue(fences.find((it) => it !== undefined));
        assert.ok(fence > last, `${fence} is not above ${last}`);
        last = fence;
        for (const { store } of [one, two])
          assert.deepEqual(
            (await store.runners.listLeases({ now: T0 })).map(({ runner }) => runner.id),
            [holder],
          );
        assert.equal(await two.store.runners.releaseLease({ name: "telegram", runner: holder }), true);
      }
    });

    eachRound("begin a delivery once", async (one, two, race) => {
      const { deliveries } = await one.store.outbox.enqueue({ deliveries: [toAnn], runner: "r1", now: T0 });
      const delivery = requireValue(deliveries[0]).number;
      const begin =
        ({ store }: Scene, runner: string) =>
        () =>
          store.outbox.beginDelivery({ delivery, runner, now: T0 });
      const begun = await race.run(begin(one, "r1"), begin(two, "r2"), begin(two, "r2"));
      const [sending, ...others] = begun.filter((it) => it !== undefined);
      assert.deepEqual(others, []);
      assert.equal(requireValue(sending).status.attempts, 1);
    });

    rule("list every pending delivery to a reader that knows the earlier ones", async (one) => {
      const two = await one.openSecond();
      const race = createRace(SEED);
      const known = new Set<number>();
      const stored: number[] = [];
      const look = async (): Promise<void> => {
        const list = { dueAt: T0, limit: 1000, except: [...known] };
        for (const { number } of await two.store.outbox.listPendingDeliveries(list)) known.add(number);
      };
      const put =
        ({ store }: Scene, count: number) =>
        async (): Promise<void> => {
          const deliveries = Array.from({ length: count }, () => toAnn);
          const added = await store.outbox.enqueue({ deliveries, runner: "r1", now: T0 });
          stored.push(...added.deliveries.map(({ number }) => number));
        };
      for (let round = 0; round < ROUNDS; round += 1)
        await race.run(put(one, 1 + race.pick(5)), look, put(two, 1), put(two, 1 + race.pick(5)), look);
      await look();
      assert.deepEqual([...known].toSorted(byNumber), stored.toSorted(byNumber));
    });

    rule("notify each other of changes within a quarter of a second", async (one) => {
      const two = await one.openSecond();
      const waits: number[] = [];
      for (let round = 0; round < 10; round += 1) {
        const [writer, listener] = round % 2 === 0 ? [one, two] : [two, one];
        waits.push(await measureNotification(writer, listener));
      }
      const inTime = waits.filter((ms) => ms <= HEARD_MS);
      assert.ok(inTime.length >= waits.length / 2, `heard after ${waits.map(Math.round).join(", ")} ms`);
    });
  });
}

const byNumber = (a: number, b: number): number => a - b;

/** The time from a commit of one store to a notification of the other, which can then read the change. */
async function measureNotification(writer: Scene, listener: Scene): Promise<number> {
  const id = writer.newId();
  const heard = Promise.withResolvers<void>();
  const unlisten = listener.store.onChange(() => {
    const found = listener.store.sessions.getSession({ asker: EVERYONE, session: id });
    found.then((session) => (session === undefined ? undefined : heard.resolve()), heard.reject);
  });
  const timer = setTimeout(() => heard.reject(new Error("no notification of a change")), NEVER_HEARD_MS);
  try {
    const session = { id, kind: "chat" as const, owner: "p_ann" };
    throwIfRefused(await writer.store.sessions.create({ session, profile: "main", now: T0 }));
    const from = performance.now();
    await heard.promise;
    return performance.now() - from;
  } finally {
    clearTimeout(timer);
    unlisten();
  }
}
