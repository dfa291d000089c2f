import assert from "node:assert/strict";
import type { Delivery } from "../core/delivery.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import {
  ANN,
  assertRefused,
  EVERYONE,
  HOUR,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const parts = [{ type: "text" as const, text: "the whole answer" }];

/** A partial answer and its final version are one message in the chat, also after a crash. */
export function defineDraftRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a draft delivery", () => {
    rule("is stored before it is shown, once for each turn, and is not pending", async (scene) => {
      const { store, begin } = scene;
      const turn = await begin(ANN, "hello");
      const draft = await createDraft(scene, turn, "7");
      assert.deepEqual(draft, {
        number: draft.number,
        session: turn.session,
        turn: turn.number,
        target: ANN,
        parts: [],
        replyTo: "7",
        nonce: draft.nonce,
        status: { state: "draft", attempts: 0, shown: "unknown" },
      });
      assert.deepEqual(await createDraft(scene, turn), draft, "a repeated call returns the same draft");
      assert.deepEqual(await store.outbox.listPendingDeliveries({ dueAt: T0 + HOUR, limit: 10 }), []);
      assert.equal(
        await store.outbox.beginDelivery({ delivery: draft.number, runner: "r1", now: T0 }),
        undefined,
      );
      const outcome = { state: "sent" as const };
      assertRefused(await store.outbox.settle({ delivery: draft.number, outcome, now: T0 }), "not_allowed");
      await store.runners.retire({ runner: "r1" });
      assert.deepEqual(await store.outbox.listOrphanedDeliveries({ platform: "telegram", now: T0 }), []);
    });

    rule("becomes the answer, with the same number, nonce and message", async (scene) => {
      const { store, begin, finish } = scene;
      for (const begun of [true, false]) {
        const turn = await begin(ANN, "hello");
        const draft = await createDraft(scene, turn, "7");
        await store.outbox.recordDraftOutcome({ delivery: draft.number, shown: { messageId: "900" } });
        const buttons = [[{ label: "More", line: "/more" }]];
        const answer = { target: ANN, parts, buttons, sendNow: begun, draft: draft.number };
        const { deliveries } = await finish(turn, "hi", {
          deliveries: [answer, { target: ANN, parts }],
          now: T0 + 5,
        });
        const message = { messageId: "900" };
        assert.deepEqual(deliveries[0], {
          ...draft,
          parts,
          buttons,
          status: begun
            ? { state: "sending", attempts: 1, shown: message, runner: "r1" }
            : { state: "waiting", attempts: 0, nextAt: T0 + 5, shown: message },
        });
        assert.notEqual(deliveries[1]?.number, draft.number);
        const due = await store.outbox.listPendingDeliveries({ dueAt: T0 + HOUR, limit: 10 });
        assert.deepEqual(due, begun ? deliveries.slice(1) : deliveries);
        for (const { number } of deliveries)
          throwIfRefused(
            await store.outbox.settle({ delivery: number, outcome: { state: "sent" }, now: T0 }),
          );
      }
    });

    rule("with an unknown outcome reports that when its answer is sent", async (scene) => {
      const { store, begin, finish } = scene;
      const turn = await begin(ANN, "hello");
      const draft = await createDraft(scene, turn);
      await store.outbox.recordDraftOutcome({ delivery: draft.number, shown: "unknown" });
      const answer = { target: ANN, parts, sendNow: true, draft: draft.number };
      const { deliveries } = await finish(turn, "hi", { deliveries: [answer] });
      assert.deepEqual(deliveries[0]?.status, {
        state: "sending",
        attempts: 1,
        shown: "unknown",
        runner: "r1",
      });
    });

    rule("that certainly did not arrive is deleted", async (scene) => {
      const { store, begin, finish, claim } = scene;
      const turn = await begin(ANN, "hello");
      const draft = await createDraft(scene, turn);
      await store.outbox.recordDraftOutcome({ delivery: draft.number, shown: "nothing" });
      const around = requireValue(
        await store.sessions.getDiagnostics({ asker: EVERYONE, session: turn.session }),
      );
      assert.deepEqual(around.deliveries, []);
      await store.runners.retire({ runner: "r1" });
      const again = requireValue(await claim(turn.session, "r2"));
      assert.equal(again.draftDelivery, undefined);
      const { deliveries } = await finish(again, "hi", {
        deliveries: [{ target: ANN, parts, draft: draft.number }],
      });
      assert.equal(deliveries.length, 1);
      assert.deepEqual(deliveries[0]?.status, {
        state: "waiting",
        attempts: 0,
        nextAt: T0,
        shown: "nothing",
      });
    });

    rule("is passed to the next attempt of the turn", async (scene) => {
      const turn = await scene.begin(ANN, "hello");
      assert.equal(turn.draftDelivery, undefined);
      const draft = await createDraft(scene, turn);
      await scene.store.runners.retire({ runner: "r1" });
      const second = requireValue(await scene.claim(turn.session, "r2"));
      assert.deepEqual(second.draftDelivery, { delivery: draft.number, shown: "unknown" });
      await scene.store.outbox.recordDraftOutcome({ delivery: draft.number, shown: { messageId: "900" } });
      await scene.reopen();
      await scene.store.runners.retire({ runner: "r2" });
      const third = requireValue(await scene.claim(turn.session, "r3"));
      assert.deepEqual(third.draftDelivery, { delivery: draft.number, shown: { messageId: "900" } });
      assert.deepEqual((await createDraft(scene, third)).number, draft.number);
      assertRefused(await tryBeginDraft(scene, turn), "stale_fence");
      assertRefused(await tryBeginDraft(scene, second), "stale_fence");
    });

    rule(
      "that the end of its turn does not complete is dropped, and nothing is sent instead",
      async (scene) => {
        const { store, begin, finish } = scene;
        const turn = await begin(ANN, "hello");
        const draft = await createDraft(scene, turn);
        await store.outbox.recordDraftOutcome({ delivery: draft.number, shown: { messageId: "900" } });
        const { deliveries } = await finish(turn, "", { outcome: "interrupted", now: T0 + 5 });
        assert.deepEqual(deliveries, []);
        const [left] = requireValue(
          await store.sessions.getDiagnostics({ asker: EVERYONE, session: turn.session }),
        ).deliveries;
        assert.equal(left?.number, draft.number);
        assert.deepEqual(left?.status, {
          state: "dead",
          attempts: 0,
          at: T0 + 5,
          lastError: "Its turn ended without it.",
        });
        await store.outbox.recordDraftOutcome({ delivery: draft.number, shown: "nothing" });
        const after = await store.sessions.getDiagnostics({ asker: EVERYONE, session: turn.session });
        assert.deepEqual(after?.deliveries, [left], "a later outcome changes nothing");
      },
    );

    rule("is refused after the turn has ended, and for the number of another turn", async (scene) => {
      const { begin, finish } = scene;
      const turn = await begin(ANN, "hello");
      assertRefused(await tryBeginDraft(scene, { ...turn, fence: turn.fence + 1 }), "stale_fence");
      assertRefused(await tryBeginDraft(scene, { ...turn, number: 999 }), "stale_fence");
      await finish(turn, "hi");
      assertRefused(await tryBeginDraft(scene, turn), "stale_fence");
    });

    rule("of another turn is not used for this turn", async (scene) => {
      const { begin, finish, store } = scene;
      const ann = await begin(ANN, "hello");
      const bob = await begin({ ...ANN, chatId: "bob", userId: "bob" }, "hello");
      const draft = await createDraft(scene, ann);
      const { deliveries } = await finish(bob, "hi", {
        deliveries: [{ target: bob.target, parts, draft: draft.number }],
      });
      assert.notEqual(deliveries[0]?.number, draft.number);
      assert.equal((await createDraft(scene, ann)).status.state, "draft");
      assert.equal((await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 10 })).length, 1);
    });
  });
}

function tryBeginDraft(
  { store }: Scene,
  { number, fence }: Turn,
  replyTo?: string,
): ReturnType<Scene["store"]["outbox"]["beginDraft"]> {
  return store.outbox.beginDraft({
    turn: number,
    fence,
    target: ANN,
    ...(replyTo !== undefined && { replyTo }),
    now: T0,
  });
}

async function createDraft(scene: Scene, turn: Turn, replyTo?: string): Promise<Delivery> {
  return throwIfRefused(await tryBeginDraft(scene, turn, replyTo));
}
