import assert from "node:assert/strict";
import { unrefused } from "../core/refusal.ts";
import type { Erased } from "../ports/store.ts";
import { begin, end, idOf, keep, place, running, runs } from "./process-scene.ts";
import {
  ANN,
  assertRefused,
  DAY,
  EVERYONE,
  HOUR,
  inGroup,
  present,
  type Rule,
  T0,
  type TestApi,
  TOGETHER,
} from "./scene.ts";

/** A program and the session that it runs for: neither goes while the other needs it, and both go in the end. */
export function processSessionRules({ describe }: TestApi, rule: Rule): void {
  describe("a session in which a process runs", () => {
    rule("does not start afresh until it has ended", async (scene) => {
      const at = await place(scene);
      const { id } = unrefused(await begin(scene, at));
      const stale = { reset: { idleBefore: T0 + DAY }, now: T0 + DAY };
      const opened = await scene.open(ANN, stale);
      assert.equal(opened.session.id, at.session);
      await runs(scene, id);
      assert.equal((await scene.open(ANN, stale)).session.id, at.session);
      const around = await scene.store.surroundings({ asker: EVERYONE, session: at.session });
      assert.deepEqual(around?.processes, [{ id, command: "make all" }]);
      const expire = { conversation: at.conversation, ...stale };
      assert.equal((await scene.store.expire(expire)).expired, false);
      const decided = await scene.store.decisions({ asker: EVERYONE, conversation: at.conversation });
      const kept = decided.filter(({ decision }) => decision === "kept_busy");
      assert.deepEqual(
        kept.map(({ reason }) => reason),
        ["idle, but a process runs"],
      );
      await end(scene, id);
      assert.equal((await scene.store.expire(expire)).expired, true);
      assert.notEqual((await scene.open(ANN, stale)).session.id, at.session);
    });

    rule("starts afresh although a program runs that only a tool waits for", async (scene) => {
      const at = await place(scene);
      unrefused(await begin(scene, at, { background: false }));
      const opened = await scene.open(ANN, { reset: { idleBefore: T0 + DAY }, now: T0 + DAY });
      assert.notEqual(opened.session.id, at.session);
    });

    rule("is not removed, nor pruned, before it has ended; then all of it goes", async (scene) => {
      const { id, session } = await running(scene);
      await keep(scene, id, 0, "words");
      const { store } = scene;
      await scene.open(ANN, { fresh: true });
      const prune = { asker: EVERYONE, before: T0 + DAY, dryRun: false, now: T0 + DAY };
      assert.deepEqual(await store.prune(prune), []);
      const ask = { asker: EVERYONE, session, now: T0 };
      const refused = assertRefused(await store.remove(ask), "session_busy");
      assert.ok(refused.reason.includes(`postrider processes kill ${id}`));
      await end(scene, id);
      await scene.fork(session);
      assert.equal(await store.remove(ask), true);
      assert.equal(await store.process({ asker: EVERYONE, id }), undefined);
      assert.equal(await store.processOutput({ asker: EVERYONE, id }), undefined);
      assert.deepEqual(await store.processes({ asker: EVERYONE, endedSince: 0 }), []);
    });
  });

  describe("a person for whom a process ran", () => {
    rule("has it among their data, and it goes with them", async (scene) => {
      const { store } = scene;
      const { id, session } = await running(scene);
      await keep(scene, id, 0, "annwords");
      const turn = await scene.begin(inGroup("ann"), "hello", { scope: TOGETHER });
      await scene.finish(turn, "hello");
      const shared = { session: turn.session, conversation: turn.conversation };
      unrefused(await begin(scene, { ...shared, target: inGroup("ann") }, { id: idOf(2) }));
      unrefused(await begin(scene, { ...shared, target: inGroup("bob") }, { id: idOf(3) }));
      const { owner: person } = await scene.get(session);
      const data = present(await store.personData({ person }));
      assert.equal(data.counts.processes, 2);
      assert.deepEqual(data.processes[0], {
        id,
        session,
        state: "running",
        begunAt: T0,
        command: "make all",
        cwd: "/tmp",
        target: ANN,
        output: "annwords",
      });
      for (const open of [id, idOf(2)]) {
        const busy = assertRefused(await store.erasePerson({ person, limit: 9, now: T0 }), "session_busy");
        assert.ok(busy.reason.includes(`postrider processes kill ${open}`));
        await end(scene, open);
      }
      for (let step: Erased = { done: false }; !step.done; )
        step = unrefused(await store.erasePerson({ person, limit: 9, now: T0, ...step }));
      const left = await store.processes({ asker: EVERYONE, endedSince: 0 });
      assert.deepEqual(
        left.map((one) => one.id),
        [idOf(3)],
        "what runs for someone else stays",
      );
      assert.equal(await store.processOutput({ asker: EVERYONE, id }), undefined);
    });
  });

  describe("a process that has ended", () => {
    rule("is kept for a week, and is gone then with its output", async (scene) => {
      const at = await place(scene);
      for (const index of [0, 1, 2]) unrefused(await begin(scene, at, { id: idOf(index) }));
      const { store } = scene;
      await runs(scene, idOf(0));
      await keep(scene, idOf(0), 0, "words");
      await end(scene, idOf(0));
      await store.endProcess({ id: idOf(1), exit: { code: 0 }, now: T0 + HOUR });
      const left = async () =>
        (await store.processes({ asker: EVERYONE, endedSince: 0 })).map(({ id }) => id).toSorted();
      await store.clear({ before: T0 - 30 * DAY, limit: 9, now: T0 + 7 * DAY });
      assert.deepEqual(await left(), [idOf(0), idOf(1), idOf(2)]);
      await store.clear({ before: T0 - 30 * DAY, limit: 9, now: T0 + 7 * DAY + 1 });
      assert.deepEqual(await left(), [idOf(1), idOf(2)]);
      assert.equal(await store.processOutput({ asker: EVERYONE, id: idOf(0) }), undefined);
      const later = { before: T0 - 30 * DAY, limit: 1, now: T0 + 99 * DAY };
      assert.deepEqual(await store.clear(later), { more: false });
      assert.deepEqual(await left(), [idOf(2)], "what has not ended stays");
    });
  });
}
