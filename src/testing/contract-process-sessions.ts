import assert from "node:assert/strict";
import { throwIfRefused } from "../core/refusal.ts";
import type { ErasureProgress } from "../ports/access-store.ts";
import {
  appendTestOutput,
  beginTestProcess,
  buildProcessId,
  createProcessOrigin,
  endTestProcess,
  markTestProcessRunning,
  startTestProcess,
} from "./process-scene.ts";
import {
  ANN,
  assertRefused,
  DAY,
  EVERYONE,
  HOUR,
  inGroup,
  requireValue,
  SCOPE_SHARED,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

/** Processes and their sessions: a running process keeps its session. */
export function defineProcessSessionRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a session with a running process", () => {
    rule("is not reset before the process has ended", async (scene) => {
      const at = await createProcessOrigin(scene);
      const { id } = throwIfRefused(await beginTestProcess(scene, at));
      const stale = { reset: { idleBefore: T0 + DAY }, now: T0 + DAY };
      const opened = await scene.open(ANN, stale);
      assert.equal(opened.session.id, at.session);
      await markTestProcessRunning(scene, id);
      assert.equal((await scene.open(ANN, stale)).session.id, at.session);
      const around = await scene.store.sessions.getDiagnostics({ asker: EVERYONE, session: at.session });
      assert.deepEqual(around?.processes, [{ id, command: "make all" }]);
      const expire = { conversation: at.conversation, ...stale };
      assert.equal((await scene.store.conversations.expireConversation(expire)).expired, false);
      const decided = await scene.store.conversations.listDecisions({
        asker: EVERYONE,
        conversation: at.conversation,
      });
      const kept = decided.filter(({ decision }) => decision === "kept_busy");
      assert.deepEqual(
        kept.map(({ reason }) => reason),
        ["idle, but a process runs"],
      );
      await endTestProcess(scene, id);
      assert.equal((await scene.store.conversations.expireConversation(expire)).expired, true);
      assert.notEqual((await scene.open(ANN, stale)).session.id, at.session);
    });

    rule("is reset despite a foreground process that only a tool waits for", async (scene) => {
      const at = await createProcessOrigin(scene);
      throwIfRefused(await beginTestProcess(scene, at, { background: false }));
      const opened = await scene.open(ANN, { reset: { idleBefore: T0 + DAY }, now: T0 + DAY });
      assert.notEqual(opened.session.id, at.session);
    });

    rule(
      "is neither removed nor pruned before the process has ended; then everything is deleted",
      async (scene) => {
        const { id, session } = await startTestProcess(scene);
        await appendTestOutput(scene, id, 0, "words");
        const { store } = scene;
        await scene.open(ANN, { fresh: true });
        const prune = { asker: EVERYONE, before: T0 + DAY, dryRun: false, now: T0 + DAY };
        assert.deepEqual(await store.sessions.prune(prune), []);
        const ask = { asker: EVERYONE, session, now: T0 };
        const refused = assertRefused(await store.sessions.remove(ask), "session_busy");
        assert.ok(refused.reason.includes(`postrider processes kill ${id}`));
        await endTestProcess(scene, id);
        await scene.fork(session);
        assert.equal(await store.sessions.remove(ask), true);
        assert.equal(await store.processes.getProcess({ asker: EVERYONE, id }), undefined);
        assert.equal(await store.processes.readProcessOutput({ asker: EVERYONE, id }), undefined);
        assert.deepEqual(await store.processes.listProcesses({ asker: EVERYONE, endedSince: 0 }), []);
      },
    );
  });

  describe("a person with a process", () => {
    rule("has it in their data, and it is erased with them", async (scene) => {
      const { store } = scene;
      const { id, session } = await startTestProcess(scene);
      await appendTestOutput(scene, id, 0, "annwords");
      const turn = await scene.begin(inGroup("ann"), "hello", { scope: SCOPE_SHARED });
      await scene.finish(turn, "hello");
      const shared = { session: turn.session, conversation: turn.conversation };
      throwIfRefused(
        await beginTestProcess(scene, { ...shared, target: inGroup("ann") }, { id: buildProcessId(2) }),
      );
      throwIfRefused(
        await beginTestProcess(scene, { ...shared, target: inGroup("bob") }, { id: buildProcessId(3) }),
      );
      const { owner: person } = await scene.get(session);
      const data = requireValue(await store.access.readPersonData({ person }));
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
      for (const open of [id, buildProcessId(2)]) {
        const busy = assertRefused(
          await store.access.erasePerson({ person, limit: 9, now: T0 }),
          "session_busy",
        );
        assert.ok(busy.reason.includes(`postrider processes kill ${open}`));
        await endTestProcess(scene, open);
      }
      for (let step: ErasureProgress = { done: false }; !step.done; )
        step = throwIfRefused(await store.access.erasePerson({ person, limit: 9, now: T0, ...step }));
      const left = await store.processes.listProcesses({ asker: EVERYONE, endedSince: 0 });
      assert.deepEqual(
        left.map((one) => one.id),
        [buildProcessId(3)],
        "processes of others stay",
      );
      assert.equal(await store.processes.readProcessOutput({ asker: EVERYONE, id }), undefined);
    });
  });

  describe("a process that has ended", () => {
    rule("is kept for a week, then deleted with its output", async (scene) => {
      const at = await createProcessOrigin(scene);
      for (const index of [0, 1, 2])
        throwIfRefused(await beginTestProcess(scene, at, { id: buildProcessId(index) }));
      const { store } = scene;
      await markTestProcessRunning(scene, buildProcessId(0));
      await appendTestOutput(scene, buildProcessId(0), 0, "words");
      await endTestProcess(scene, buildProcessId(0));
      await store.processes.endProcess({ id: buildProcessId(1), exit: { code: 0 }, now: T0 + HOUR });
      const left = async () =>
        (await store.processes.listProcesses({ asker: EVERYONE, endedSince: 0 }))
          .map(({ id }) => id)
          .toSorted();
      await store.upkeep.purgeFinished({ before: T0 - 30 * DAY, limit: 9, now: T0 + 7 * DAY });
      assert.deepEqual(await left(), [buildProcessId(0), buildProcessId(1), buildProcessId(2)]);
      await store.upkeep.purgeFinished({ before: T0 - 30 * DAY, limit: 9, now: T0 + 7 * DAY + 1 });
      assert.deepEqual(await left(), [buildProcessId(1), buildProcessId(2)]);
      assert.equal(
        await store.processes.readProcessOutput({ asker: EVERYONE, id: buildProcessId(0) }),
        undefined,
      );
      const later = { before: T0 - 30 * DAY, limit: 1, now: T0 + 99 * DAY };
      assert.deepEqual(await store.upkeep.purgeFinished(later), { more: false });
      assert.deepEqual(await left(), [buildProcessId(2)], "a running process stays");
    });
  });
}
