import assert from "node:assert/strict";
import { textPart } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  DAY,
  dm,
  EVERYONE,
  inGroup,
  requireValue,
  SCOPE_SHARED,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const MONTH = T0 + 30 * DAY;

/** Old rows are purged, messages are not. */
export function definePurgeRules({ describe }: TestApi, rule: StoreRule): void {
  describe("purging", () => {
    rule("deletes settled, done, ended, answered or expired rows, and no messages", async (scene) => {
      const { session, person } = await createFinishedWork(scene);
      const before = await scene.store.messages.listMessages({ asker: EVERYONE, session });
      const data = requireValue(await scene.store.access.readPersonData({ person })).counts;
      assert.ok([data.inbox, data.turns, data.deliveries, data.approvals].every((count) => count > 0));
      assert.deepEqual(await purge(scene, T0), { more: false });
      assert.deepEqual(requireValue(await scene.store.access.readPersonData({ person })).counts, data);
      assert.deepEqual(await purge(scene, MONTH), { more: false });
      const after = requireValue(await scene.store.access.readPersonData({ person })).counts;
      assert.deepEqual(
        [after.inbox, after.turns, after.deliveries, after.approvals, after.pairings],
        [0, 0, 0, 0, 0],
      );
      assert.deepEqual([after.messages, after.sessions, after.allowed], [data.messages, data.sessions, 1]);
      assert.deepEqual(await scene.store.messages.listMessages({ asker: EVERYONE, session }), before);
    });

    rule("runs in steps, and reports when there is more", async (scene) => {
      const { person } = await createFinishedWork(scene);
      const total = async () => {
        const { inbox, turns, deliveries, approvals, pairings } = requireValue(
          await scene.store.access.readPersonData({ person }),
        ).counts;
        return inbox + turns + deliveries + approvals + pairings;
      };
      let left = await total();
      assert.ok(left > 3);
      for (let more = true; more; ) {
        ({ more } = await purge(scene, MONTH, 1));
        const now = await total();
        assert.ok(now >= left - 1, "one at a time");
        left = now;
      }
      assert.equal(left, 0);
    });

    rule("keeps pending and running rows of any age", async (scene) => {
      const { begin, finish, take, store } = scene;
      const done = await begin(ANN, "one");
      const { deliveries } = await finish(done, "two", {
        deliveries: [{ target: ANN, parts: [textPart("two")] }],
      });
      const running = await begin(ANN, "three");
      await take(ANN, "waits");
      assert.deepEqual(await purge(scene, MONTH), { more: false });
      assert.deepEqual(
        (await store.outbox.listPendingDeliveries({ dueAt: MONTH, limit: 9 })).map(({ parts }) => parts),
        [[textPart("two")]],
      );
      assert.equal(deliveries.length, 1);
      assert.equal((await store.inbox.listPending({ asker: EVERYONE, session: running.session })).length, 1);
      await finish(running, "four");
    });

    rule("keeps valid codes and locks", async (scene) => {
      const { store } = scene;
      const asker = dm("bob");
      const rest = { platform: "telegram", salt: "s", everyMs: DAY, maxPending: 3, now: T0 };
      await store.access.requestPairing({ ...rest, asker, hash: "h", expiresAt: MONTH + 1 });
      await store.access.countGuess({ name: "x", maxGuesses: 1, lockMs: 31 * DAY, now: T0 });
      await purge(scene, MONTH);
      assert.equal((await store.access.listPairings({ now: T0 })).length, 1);
      assert.equal(
        (await store.access.countGuess({ name: "x", maxGuesses: 1, lockMs: 31 * DAY, now: MONTH })).allowed,
        false,
      );
      await purge(scene, MONTH + 2 * DAY);
      assert.deepEqual(await store.access.listPairings({ now: T0 }), []);
    });

    rule("keeps the senders of messages in a shared chat", async (scene) => {
      const inside = { scope: SCOPE_SHARED };
      const { id } = await scene.talk(inGroup("ann"), "annwords", "to Ann", inside);
      await scene.talk(inGroup("bob"), "bobwords", "to Bob", inside);
      // Of two inputs of one turn, only the sender of the last one is stored.
      await scene.take(inGroup("bob"), "more bobwords", inside);
      await scene.take(inGroup("ann"), "more annwords", inside);
      await scene.beat("r1");
      const turn = requireValue(
        await scene.store.turns.claim({ session: id, runner: "r1", take: "all", now: T0 }),
      );
      await scene.finish(turn, "to both");
      const said = async (name: string) =>
        requireValue(
          await scene.store.access.readPersonData({ platform: "telegram", account: name }),
        ).elsewhere.map(({ seq }) => seq);
      const [ann, bob] = [await said("ann"), await said("bob")];
      assert.deepEqual([ann, bob], [[1, 6], [3]]);
      for (let more = true; more; ) ({ more } = await purge(scene, MONTH, 1));
      assert.deepEqual([await said("ann"), await said("bob")], [ann, bob]);
    });
  });
}

function purge({ store }: Scene, before: number, limit = 100) {
  return store.upkeep.purgeFinished({ before, limit, now: MONTH });
}

/** A person with messages, answers, an approval and access. */
async function createFinishedWork(scene: Scene): Promise<{ session: string; person: string }> {
  const { begin, finish, store, take } = scene;
  const turn = await begin(ANN, "", { message: user("tidy up") });
  const ask = async () =>
    throwIfRefused(
      await store.access.createApproval({
        turn: turn.number,
        fence: turn.fence,
        request: { title: "Remove", pattern: "rm" },
        deadline: T0 + 1,
        now: T0,
      }),
    );
  const { number: approval, person } = await ask();
  throwIfRefused(await store.access.answerApproval({ person, approval, answer: "always", now: T0 }));
  await ask();
  const { deliveries } = await finish(turn, "done", {
    deliveries: [{ target: ANN, parts: [textPart("done")] }],
  });
  for (const delivery of deliveries)
    throwIfRefused(
      await store.outbox.settle({
        delivery: typeof delivery === "number" ? delivery : delivery.number,
        outcome: { state: "sent" },
        now: T0,
      }),
    );
  const { conversation } = await take(ANN, "never mind");
  await store.inbox.cancelPending({ conversation: conversation.number, now: T0 });
  const rest = { platform: "telegram", salt: "s", everyMs: DAY, maxPending: 3, now: T0 };
  await store.access.requestPairing({ ...rest, asker: ANN, hash: "h", expiresAt: T0 + 1 });
  return { session: turn.session, person };
}
