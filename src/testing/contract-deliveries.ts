import assert from "node:assert/strict";
import type { Delivery, NewDelivery } from "../core/delivery.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  BOB,
  EVERYONE,
  HOUR,
  inGroup,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const parts = [{ type: "text" as const, text: "hi" }];
const toAnn: NewDelivery = { target: ANN, parts };
const toSignal: NewDelivery = { target: { ...ANN, platform: "signal" }, parts };

/** Deliveries are stored before they are sent, and sent once. */
export function defineDeliveryRules({ describe }: TestApi, rule: StoreRule): void {
  describe("deliveries", () => {
    rule(
      "are stored with the answer, and those with `sendNow` count their first attempt",
      async ({ begin, finish, store }) => {
        const turn = await begin(ANN, "hello");
        const buttons = [[{ label: "Yes", line: "/yes" }]];
        const finished = await finish(turn, "hi", {
          deliveries: [
            { ...toAnn, sendNow: true },
            { target: BOB, parts, replyTo: "77", buttons },
          ],
        });
        const [begun, waits] = finished.deliveries;
        assert.deepEqual(begun?.status, { state: "sending", attempts: 1, shown: "nothing", runner: "r1" });
        assert.deepEqual(waits, {
          number: requireValue(waits).number,
          session: turn.session,
          turn: turn.number,
          target: BOB,
          parts,
          replyTo: "77",
          buttons,
          nonce: requireValue(waits).nonce,
          status: { state: "waiting", attempts: 0, nextAt: T0, shown: "nothing" },
        });
        assert.deepEqual(await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 10 }), [waits]);
        const settled = throwIfRefused(
          await store.outbox.settle({
            delivery: requireValue(begun).number,
            outcome: { state: "sent", platformMessageId: "900" },
            now: T0 + 1,
          }),
        );
        assert.deepEqual(settled, {
          ...begun,
          status: { state: "sent", attempts: 1, at: T0 + 1, platformMessageId: "900" },
        });
      },
    );

    rule("that were sent are never sent again, even after a later outcome", async (scene) => {
      const { number: delivery } = await createDelivery(scene, { ...toAnn, sendNow: true });
      const done = throwIfRefused(
        await scene.store.outbox.settle({ delivery, outcome: { state: "sent" }, now: T0 + 1 }),
      );
      await scene.reopen();
      const error = "network";
      for (const outcome of [
        { state: "waiting", nextAt: T0, error, shown: "unknown" } as const,
        { state: "dead", error } as const,
      ]) {
        assert.deepEqual(
          throwIfRefused(await scene.store.outbox.settle({ delivery, outcome, now: T0 + 2 })),
          done,
        );
      }
      assert.equal(
        await scene.store.outbox.beginDelivery({ delivery, runner: "r1", now: T0 + 2 }),
        undefined,
      );
      assert.deepEqual(await scene.store.outbox.listPendingDeliveries({ dueAt: T0 + HOUR, limit: 10 }), []);
    });

    rule("that are dead stay dead", async (scene) => {
      const { number: delivery } = await createDelivery(scene, toAnn);
      const dead = throwIfRefused(
        await scene.store.outbox.settle({
          delivery,
          outcome: { state: "dead", error: "blocked" },
          now: T0 + 1,
        }),
      );
      assert.deepEqual(dead.status, { state: "dead", attempts: 0, at: T0 + 1, lastError: "blocked" });
      const outcome = { state: "sent" as const, platformMessageId: "1" };
      assert.deepEqual(
        throwIfRefused(await scene.store.outbox.settle({ delivery, outcome, now: T0 + 2 })),
        dead,
      );
    });

    rule("that failed are pending until they are due, oldest first", async ({ begin, finish, store }) => {
      const turn = await begin(ANN, "hello");
      const begun = { ...toAnn, sendNow: true };
      const { deliveries } = await finish(turn, "hi", { deliveries: [begun, begun, begun] });
      const [one, two, three] = deliveries.map(({ number }, index) => ({
        delivery: number,
        nextAt: T0 + 300 - index * 100,
      }));
      for (const { delivery, nextAt } of [requireValue(one), requireValue(two)]) {
        const outcome = { state: "waiting" as const, nextAt, error: "429" };
        const { status } = throwIfRefused(await store.outbox.settle({ delivery, outcome, now: T0 }));
        assert.deepEqual(status, {
          state: "waiting",
          attempts: 1,
          nextAt,
          shown: "nothing",
          lastError: "429",
        });
      }
      const dead = { state: "dead" as const, error: "blocked" };
      const { status } = throwIfRefused(
        await store.outbox.settle({ delivery: requireValue(three).delivery, outcome: dead, now: T0 + 1 }),
      );
      assert.deepEqual(status, { state: "dead", attempts: 1, at: T0 + 1, lastError: "blocked" });
      const due = async (dueAt: number, limit = 10) =>
        (await store.outbox.listPendingDeliveries({ dueAt, limit })).map((it) => it.number);
      assert.deepEqual(await due(T0 + 199), []);
      assert.deepEqual(await due(T0 + 200), [two?.delivery]);
      assert.deepEqual(await due(T0 + 300), [one?.delivery, two?.delivery]);
      assert.deepEqual(await due(T0 + 300, 1), [one?.delivery]);
      assertRefused(await store.outbox.settle({ delivery: 999, outcome: dead, now: T0 }), "not_found");
    });

    rule("are started by one of several concurrent runners, and the attempt is counted", async (scene) => {
      const { number: delivery } = await createDelivery(scene, toAnn);
      const { store } = scene;
      const all = await Promise.all(
        ["r1", "r2", "r3"].map((runner) => store.outbox.beginDelivery({ delivery, runner, now: T0 + 1 })),
      );
      const [begun, ...others] = all.filter((it) => it !== undefined);
      assert.deepEqual(others, []);
      assert.equal(requireValue(begun).status.state, "sending");
      assert.equal(requireValue(begun).status.attempts, 1);
      assert.deepEqual(await store.outbox.listPendingDeliveries({ dueAt: T0 + HOUR, limit: 10 }), []);
      const outcome = { state: "waiting" as const, nextAt: T0 + 5, error: "429" };
      throwIfRefused(await store.outbox.settle({ delivery, outcome, now: T0 + 2 }));
      const again = requireValue(await store.outbox.beginDelivery({ delivery, runner: "r2", now: T0 + 6 }));
      assert.deepEqual(again.status, { state: "sending", attempts: 2, shown: "nothing", runner: "r2" });
      assert.equal(await store.outbox.beginDelivery({ delivery: 999, runner: "r1", now: T0 }), undefined);
    });

    rule("report the result of earlier attempts to the next one", async (scene) => {
      const first = await createDelivery(scene, { ...toAnn, sendNow: true });
      const waiting = { state: "waiting" as const, nextAt: T0, error: "network" };
      const settled = async (shown: Parameters<typeof withShown>[0]) =>
        getShown(
          throwIfRefused(
            await scene.store.outbox.settle({ delivery: first.number, outcome: withShown(shown), now: T0 }),
          ),
        );
      const withShown = (shown?: "nothing" | "unknown" | { messageId: string }) =>
        shown === undefined ? waiting : { ...waiting, shown };
      assert.equal(await settled("unknown"), "unknown");
      await scene.reopen();
      assert.equal(await settled(undefined), "unknown", "an absent value keeps the old one");
      const begun = requireValue(
        await scene.store.outbox.beginDelivery({ delivery: first.number, runner: "r1", now: T0 }),
      );
      assert.equal(getShown(begun), "unknown");
      assert.deepEqual(await settled({ messageId: "900" }), { messageId: "900" });
      assert.equal(await settled("nothing"), "nothing");
      assert.equal(begun.nonce, first.nonce, "the nonce is the same for every attempt");
    });

    rule("count errors of the platform, and store the time at which they were deferred", async (scene) => {
      const { number: delivery } = await createDelivery(scene, { ...toAnn, sendNow: true });
      const waiting = { state: "waiting" as const, nextAt: T0, error: "500" };
      const settle = async (more: object, now = T0) =>
        throwIfRefused(await scene.store.outbox.settle({ delivery, outcome: { ...waiting, ...more }, now }))
          .status;
      const status = { state: "waiting", attempts: 1, nextAt: T0, shown: "nothing", lastError: "500" };
      assert.deepEqual(await settle({}), status, "an unreachable platform is not counted");
      assert.deepEqual(await settle({ failed: true }), { ...status, failures: 1 });
      assert.deepEqual(await scene.store.outbox.listDeferredDeliveries({ limit: 10 }), []);
      const aside = { ...status, failures: 2, deferredAt: T0 + 5 };
      assert.deepEqual(await settle({ failed: true, deferred: true }, T0 + 5), aside);
      await scene.reopen();
      assert.deepEqual(await settle({ deferred: true }, T0 + 9), aside, "the first time counts");
      const begun = requireValue(await scene.store.outbox.beginDelivery({ delivery, runner: "r1", now: T0 }));
      assert.deepEqual(begun.status, {
        state: "sending",
        attempts: 2,
        shown: "nothing",
        runner: "r1",
        failures: 2,
        deferredAt: T0 + 5,
      });
      const listed = async () =>
        (await scene.store.outbox.listDeferredDeliveries({ limit: 10 })).map(({ number }) => number);
      assert.deepEqual(await listed(), [delivery]);
      throwIfRefused(await scene.store.outbox.settle({ delivery, outcome: { state: "sent" }, now: T0 + 10 }));
      assert.deepEqual(await listed(), []);
    });

    rule(
      "that are deferred or dead get one notice, in their position and in the same commit",
      async (scene) => {
        const { store } = scene;
        const notice: NewDelivery = { target: ANN, parts: [{ type: "text", text: "it waits" }] };
        const first = await createDelivery(scene, { ...toAnn, sendNow: true });
        const waiting = { state: "waiting" as const, nextAt: T0 + HOUR, error: "500", failed: true };
        const settle = async (outcome: Parameters<typeof store.outbox.settle>[0]["outcome"]) =>
          throwIfRefused(await store.outbox.settle({ delivery: first.number, outcome, notice, now: T0 }))
            .notice;
        assert.equal(await settle(waiting), undefined, "it is only retried");
        const told = requireValue(await settle({ ...waiting, deferred: true }));
        assert.deepEqual([told.noticeFor, told.parts], [first.number, notice.parts]);
        assert.equal(await settle({ ...waiting, deferred: true }), undefined);
        assert.equal(await settle({ state: "dead", error: "500" }), undefined);
        await scene.reopen();
        assert.deepEqual(await scene.store.outbox.listPendingDeliveries({ dueAt: T0, limit: 10 }), [told]);
        const other = await createDelivery(scene, { ...toAnn, sendNow: true });
        const dead = { delivery: other.number, outcome: { state: "dead" as const, error: "blocked" } };
        const refused = throwIfRefused(await scene.store.outbox.settle({ ...dead, notice, now: T0 }));
        assert.equal(refused.notice?.noticeFor, other.number);
        assert.equal(
          throwIfRefused(await scene.store.outbox.settle({ ...dead, notice, now: T0 })).notice,
          undefined,
        );
      },
    );

    rule("each have a unique nonce", async (scene) => {
      const turn = await scene.begin(ANN, "hello");
      const { deliveries } = await scene.finish(turn, "hi", { deliveries: [toAnn, toAnn, toSignal] });
      const again = await scene.store.outbox.enqueue({ deliveries: [toAnn], runner: "r1", now: T0 });
      const nonces = new Set([...deliveries, ...again.deliveries].map(({ nonce }) => nonce));
      assert.equal(nonces.size, 4);
    });

    rule("are listed by platform", async (scene) => {
      const { store, begin, finish } = scene;
      const turn = await begin(ANN, "hello");
      const { deliveries } = await finish(turn, "hi", { deliveries: [toAnn, toSignal, toAnn] });
      const [one, two, three] = deliveries.map(({ number }) => number);
      const due = async (platform?: string) =>
        (
          await store.outbox.listPendingDeliveries({
            dueAt: T0,
            limit: 10,
            ...(platform !== undefined && { platform }),
          })
        ).map(({ number }) => number);
      assert.deepEqual(await due("telegram"), [one, three]);
      assert.deepEqual(await due("signal"), [two]);
      assert.deepEqual(await due("matrix"), []);
      assert.deepEqual(await due(), [one, two, three]);
    });

    rule("are listed without those that the caller knows, however many there are", async ({ store }) => {
      const { deliveries } = await store.outbox.enqueue({
        deliveries: Array.from({ length: 120 }, (_, index) => (index % 3 === 0 ? toSignal : toAnn)),
        runner: "r1",
        now: T0,
      });
      const numbers = deliveries.map(({ number }) => number);
      const list = async (except: readonly number[], limit: number) =>
        (await store.outbox.listPendingDeliveries({ dueAt: T0, limit, except })).map(({ number }) => number);
      assert.deepEqual(await list([], 1000), numbers);
      assert.deepEqual(await list(numbers, 1000), []);
      const odd = numbers.filter((_, index) => index % 2 === 1);
      const even = numbers.filter((_, index) => index % 2 === 0);
      assert.deepEqual(await list(odd, 1000), even);
      assert.deepEqual(await list(numbers.slice(0, 100), 7), numbers.slice(100, 107));
      assert.deepEqual(await list([...numbers.slice(1), 999_999], 7), [numbers[0]]);
      const onTelegram = await store.outbox.listPendingDeliveries({
        dueAt: T0,
        limit: 1000,
        platform: "telegram",
        except: odd,
      });
      const expected = numbers.filter((_, index) => index % 2 === 0 && index % 3 !== 0);
      assert.deepEqual(
        onTelegram.map(({ number }) => number),
        expected,
      );
      assert.deepEqual(onTelegram[0], deliveries[2], "a delivery is listed as it was stored");
    });

    rule(
      "are listed although deliveries with higher numbers became pending before them",
      async ({ store, begin, finish }) => {
        const turn = await begin(ANN, "hello");
        const { number, fence } = turn;
        const drafted = throwIfRefused(
          await store.outbox.beginDraft({ turn: number, fence, target: ANN, now: T0 }),
        );
        const put = async (sendNow: boolean) =>
          requireValue(
            (await store.outbox.enqueue({ deliveries: [{ ...toAnn, sendNow }], runner: "r1", now: T0 }))
              .deliveries[0],
          ).number;
        const [begun, waiting] = [await put(true), await put(false)];
        const known = new Set<number>();
        const look = async () => {
          const found = await store.outbox.listPendingDeliveries({
            dueAt: T0,
            limit: 10,
            except: [...known],
          });
          for (const one of found) known.add(one.number);
          return found.map((one) => one.number);
        };
        assert.deepEqual(await look(), [waiting]);
        const outcome = { state: "waiting" as const, nextAt: T0, error: "500" };
        throwIfRefused(await store.outbox.settle({ delivery: begun, outcome, now: T0 }));
        assert.deepEqual(await look(), [begun]);
        await finish(turn, "hi", { deliveries: [{ ...toAnn, draft: drafted.number }] });
        assert.ok(drafted.number < begun && begun < waiting);
        assert.deepEqual(await look(), [drafted.number]);
        assert.deepEqual(await look(), []);
      },
    );

    rule("of a runner are orphaned when the runner ends, and not earlier", async (scene) => {
      const { store, begin, finish, beat } = scene;
      const turn = await begin(ANN, "hello");
      const begun = { sendNow: true };
      const { deliveries } = await finish(turn, "hi", {
        deliveries: [{ ...toAnn, ...begun }, { ...toSignal, ...begun }, toAnn, { ...toAnn, ...begun }],
      });
      await beat("r2");
      await store.outbox.beginDelivery({
        delivery: requireValue(deliveries[2]).number,
        runner: "r2",
        now: T0,
      });
      const left = async (platform = "telegram") =>
        (await store.outbox.listOrphanedDeliveries({ platform, now: T0 })).map(({ number }) => number);
      assert.deepEqual(await left(), []);
      await store.runners.retire({ runner: "r1" });
      assert.deepEqual(await left(), [deliveries[0]?.number, deliveries[3]?.number]);
      assert.deepEqual(await left("signal"), [deliveries[1]?.number]);
      const outcome = { state: "waiting" as const, nextAt: T0, error: "crashed", shown: "unknown" as const };
      throwIfRefused(
        await store.outbox.settle({ delivery: requireValue(deliveries[0]).number, outcome, now: T0 }),
      );
      assert.deepEqual(await left(), [deliveries[3]?.number]);
      await beat("r2", T0 + HOUR);
      assert.equal(
        (await store.outbox.listOrphanedDeliveries({ platform: "telegram", now: T0 + HOUR })).length,
        1,
      );
      assert.equal(
        (await store.outbox.listOrphanedDeliveries({ platform: "telegram", now: T0 + 2 * HOUR })).length,
        2,
      );
    });
  });

  describe("deliveries without a turn", () => {
    rule("need no session, and belong to one if it is given", async (scene) => {
      const { store, talk } = scene;
      const { deliveries } = await store.outbox.enqueue({
        deliveries: [{ ...toAnn, sendNow: true, replyTo: "5" }, toAnn],
        runner: "r1",
        now: T0,
      });
      const [begun, waits] = deliveries;
      assert.deepEqual(begun, {
        number: requireValue(begun).number,
        target: ANN,
        parts,
        replyTo: "5",
        nonce: requireValue(begun).nonce,
        status: { state: "sending", attempts: 1, shown: "nothing", runner: "r1" },
      });
      assert.deepEqual(
        await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 10, platform: "telegram" }),
        [waits],
      );
      const session = await talk(ANN, "hello", "hi");
      const more = await store.outbox.enqueue({
        deliveries: [toAnn],
        session: session.id,
        runner: "r1",
        now: T0,
      });
      assert.equal(more.deliveries[0]?.session, session.id);
      assert.equal(more.deliveries[0]?.turn, undefined);
      const around = requireValue(
        await store.sessions.getDiagnostics({ asker: EVERYONE, session: session.id }),
      );
      assert.deepEqual(around.deliveries, more.deliveries);
      const gone = await store.outbox.enqueue({
        deliveries: [toAnn],
        session: "none",
        runner: "r1",
        now: T0,
      });
      assert.equal(gone.deliveries[0]?.session, undefined);
    });

    rule("can be quiet, and are found by number in any state", async ({ store }) => {
      const { deliveries } = await store.outbox.enqueue({
        deliveries: [{ ...toAnn, quiet: true }, toAnn],
        runner: "r1",
        now: T0,
      });
      const [quiet, loud] = deliveries.map((one) => requireValue(one));
      assert.deepEqual([quiet?.quiet, loud && "quiet" in loud], [true, false]);
      for (const one of deliveries)
        assert.deepEqual(await store.outbox.getDelivery({ number: one.number }), one);
      const outcome = { state: "sent" as const, platformMessageId: "77" };
      throwIfRefused(
        await store.outbox.settle({ delivery: requireValue(quiet).number, outcome, now: T0 + 1 }),
      );
      const settled = requireValue(await store.outbox.getDelivery({ number: requireValue(quiet).number }));
      assert.equal(settled.quiet, true);
      assert.deepEqual(settled.status, { ...outcome, attempts: 0, at: T0 + 1 });
      assert.equal(await store.outbox.getDelivery({ number: 999_999 }), undefined);
    });

    rule("announce a reset once: the notice is not due any more", async (scene) => {
      const { store, talk, open } = scene;
      await talk(ANN, "hello", "hi");
      const late = { reset: { idleBefore: T0 + 1 }, now: T0 + HOUR };
      const { conversation, fresh } = await open(ANN, late);
      assert.equal(fresh?.noticeDue, true);
      await store.outbox.enqueue({
        deliveries: [toAnn],
        runner: "r1",
        resetNoticeFor: conversation.number,
        now: T0,
      });
      const again = await open(ANN, { now: T0 + HOUR });
      assert.deepEqual([again.fresh?.noteDue, again.fresh?.noticeDue], [true, false]);
    });

    rule("keep the bytes that they refer to until they are sent", async (scene) => {
      const { store } = scene;
      const blob = { hash: "ab".repeat(32), bytes: new Uint8Array([1, 2, 3]) };
      const file = { type: "file" as const, blob: blob.hash, mimeType: "text/plain", size: 3, name: "a.txt" };
      const send = () =>
        store.outbox.enqueue({ deliveries: [{ target: ANN, parts: [file] }], runner: "r1", now: T0 });
      await assertRejects(send(), "invalid_input");
      const { deliveries } = await store.outbox.enqueue({
        deliveries: [{ target: ANN, parts: [file] }],
        blobs: [blob],
        runner: "r1",
        now: T0,
      });
      const [second] = (await send()).deliveries;
      const read = () => store.messages.readBlob({ asker: EVERYONE, hash: blob.hash });
      assert.deepEqual(await read(), blob.bytes);
      const arrived = async (delivery: Delivery | undefined) =>
        throwIfRefused(
          await store.outbox.settle({
            delivery: requireValue(delivery).number,
            outcome: { state: "sent" },
            now: T0,
          }),
        );
      await arrived(deliveries[0]);
      assert.deepEqual(await read(), blob.bytes, "the second is still pending");
      await arrived(second);
      assert.equal(await read(), undefined);
    });

    rule("are visible only in their session", async ({ store, begin, finish, get }) => {
      const turn = await begin(inGroup("ann"), "hello");
      const { owner } = await get(turn.session);
      await finish(turn, "hi", { deliveries: [{ target: inGroup("ann"), parts }] });
      await store.outbox.enqueue({ deliveries: [toAnn], runner: "r1", now: T0 });
      const own = await store.sessions.getDiagnostics({ asker: { person: owner }, session: turn.session });
      assert.equal(own?.deliveries.length, 1);
      assert.equal(
        await store.sessions.getDiagnostics({ asker: { person: "p_x" }, session: turn.session }),
        undefined,
      );
    });
  });
}

async function createDelivery({ begin, finish }: Scene, delivery: NewDelivery): Promise<Delivery> {
  const turn = await begin(ANN, "hello");
  return requireValue((await finish(turn, "hi", { deliveries: [delivery] })).deliveries[0]);
}

function getShown({ status }: Delivery): unknown {
  return "shown" in status ? status.shown : undefined;
}
