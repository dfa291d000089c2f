import assert from "node:assert/strict";
import { unrefused } from "../core/refusal.ts";
import { ANN, assertRefused, BOB, HOUR, present, type Rule, T0, type TestApi } from "./scene.ts";

/** An answer is stored before it is sent, and sent once. */
export function deliveryRules({ describe }: TestApi, rule: Rule): void {
  describe("deliveries", () => {
    const target = ANN;
    const parts = [{ type: "text" as const, text: "hi" }];

    rule(
      "are stored with the answer, and those begun count their first attempt",
      async ({ begin, finish, store }) => {
        const turn = await begin(ANN, "hello");
        const finished = await finish(turn, "hi", {
          deliveries: [
            { target, parts, begun: true },
            { target: BOB, parts },
          ],
        });
        assert.equal(finished.deliveries.length, 2);
        const due = await store.deliveries({ dueAt: T0, limit: 10 });
        assert.deepEqual(due, [
          {
            number: finished.deliveries[1],
            session: turn.session,
            turn: turn.number,
            target: BOB,
            parts,
            status: { state: "waiting", attempts: 0, nextAt: T0 },
          },
        ]);
        const settled = unrefused(
          await store.settle({
            delivery: present(finished.deliveries[0]),
            outcome: { state: "sent", platformMessageId: "900" },
            now: T0 + 1,
          }),
        );
        assert.deepEqual(settled.status, {
          state: "sent",
          attempts: 1,
          at: T0 + 1,
          platformMessageId: "900",
        });
      },
    );

    rule("that were sent are never sent again, whatever is said of them later", async (scene) => {
      const { begin, finish } = scene;
      const turn = await begin(ANN, "hello");
      const { deliveries } = await finish(turn, "hi", { deliveries: [{ target, parts, begun: true }] });
      const delivery = present(deliveries[0]);
      const sent = unrefused(await scene.store.settle({ delivery, outcome: { state: "sent" }, now: T0 + 1 }));
      await scene.reopen();
      const error = "network";
      for (const outcome of [
        { state: "waiting", nextAt: T0, error } as const,
        { state: "dead", error } as const,
      ]) {
        assert.deepEqual(unrefused(await scene.store.settle({ delivery, outcome, now: T0 + 2 })), sent);
      }
      assert.deepEqual(await scene.store.deliveries({ dueAt: T0 + HOUR, limit: 10 }), []);
    });

    rule("that failed wait until they are due, oldest first", async ({ begin, finish, store }) => {
      const turn = await begin(ANN, "hello");
      const begun = { target, parts, begun: true };
      const { deliveries } = await finish(turn, "hi", { deliveries: [begun, begun, begun] });
      const [one, two, three] = deliveries.map((delivery, index) => ({
        delivery,
        nextAt: T0 + 300 - index * 100,
      }));
      for (const { delivery, nextAt } of [present(one), present(two)]) {
        const outcome = { state: "waiting" as const, nextAt, error: "429" };
        const { status } = unrefused(await store.settle({ delivery, outcome, now: T0 }));
        assert.deepEqual(status, { state: "waiting", attempts: 1, nextAt, lastError: "429" });
      }
      const dead = { state: "dead" as const, error: "blocked" };
      const { status } = unrefused(
        await store.settle({ delivery: present(three).delivery, outcome: dead, now: T0 + 1 }),
      );
      assert.deepEqual(status, { state: "dead", attempts: 1, at: T0 + 1, lastError: "blocked" });
      const due = async (dueAt: number, limit = 10): Promise<number[]> =>
        (await store.deliveries({ dueAt, limit })).map((it) => it.number);
      assert.deepEqual(await due(T0 + 199), []);
      assert.deepEqual(await due(T0 + 200), [two?.delivery]);
      assert.deepEqual(await due(T0 + 300), [one?.delivery, two?.delivery]);
      assert.deepEqual(await due(T0 + 300, 1), [one?.delivery]);
      assertRefused(await store.settle({ delivery: 999, outcome: dead, now: T0 }), "not_found");
    });
  });
}
