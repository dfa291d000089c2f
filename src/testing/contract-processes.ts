import assert from "node:assert/strict";
import type { NewProcess, Watch } from "../core/process.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import {
  appendTestOutput,
  beginTestProcess,
  buildProcess,
  buildProcessId,
  createProcessOrigin,
  endTestProcess,
  markTestProcessRunning,
  startTestProcess,
  UNWATCHED,
  WATCHED,
} from "./process-scene.ts";
import {
  ANN,
  assertRefused,
  BOB,
  EVERYONE,
  GROUP,
  HOUR,
  inGroup,
  MINUTE,
  requireValue,
  SCOPE_SHARED,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

/** Processes of sessions. Their state survives a crash of their keeper. */
export function defineProcessRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a process", () => {
    rule("is stored before it runs, and survives a restart", async (scene) => {
      const at = await createProcessOrigin(scene);
      const watch: Watch = { mode: "all", everyMs: HOUR, patterns: ["ERROR"], wakes: true };
      const begun = throwIfRefused(await beginTestProcess(scene, at, { watch }));
      assert.deepEqual(begun, {
        ...buildProcess({ watch }),
        session: at.session,
        conversation: at.conversation,
        target: ANN,
        begunAt: T0,
        unfinishedInput: "",
        status: { state: "starting" },
        total: 0,
        matches: { count: 0, lines: [] },
        reported: { upTo: 0, at: 0, matches: 0, end: false },
      });
      await scene.reopen();
      assert.deepEqual(await scene.store.processes.getProcess({ asker: EVERYONE, id: begun.id }), begun);
      const running = await markTestProcessRunning(scene, begun.id, { pty: false });
      const status = { state: "running", pid: 7, startTime: "77", keeper: "k1", detached: false };
      assert.deepEqual(running, { ...begun, pty: false, status });
      const ended = throwIfRefused(
        await scene.store.processes.endProcess({ id: begun.id, exit: { code: 3 }, now: T0 + 9 }),
      );
      assert.deepEqual(ended, {
        ...running,
        status: { state: "ended", at: T0 + 9, exit: { code: 3 } },
      });
      await scene.reopen();
      assert.deepEqual(await scene.store.processes.getProcess({ asker: EVERYONE, id: begun.id }), ended);
    });

    rule("stores its unfinished input line, or that it is unknown", async (scene) => {
      const { id } = throwIfRefused(await beginTestProcess(scene, await createProcessOrigin(scene)));
      const unfinished = async () =>
        (await scene.store.processes.getProcess({ asker: EVERYONE, id }))?.unfinishedInput;
      await scene.store.processes.recordProcessInput({ id, unfinished: "rm -r" });
      await scene.reopen();
      assert.equal(await unfinished(), "rm -r");
      await scene.store.processes.recordProcessInput({ id });
      await scene.reopen();
      assert.equal(await unfinished(), undefined);
    });

    rule("is refused for a removed session, and for an existing id", async (scene) => {
      const at = await createProcessOrigin(scene);
      assertRefused(await beginTestProcess(scene, { ...at, session: "no such session" }), "not_found");
      throwIfRefused(await beginTestProcess(scene, at));
      assertRefused(await beginTestProcess(scene, at, { command: "another" }), "invalid_input");
      const { id } = await scene.create("p_ann", ["words", "kept by the fork"]);
      await scene.fork(id);
      assert.equal(await scene.store.sessions.remove({ asker: EVERYONE, session: id, now: T0 }), true);
      assertRefused(
        await beginTestProcess(scene, { ...at, session: id }, { id: buildProcessId(2) }),
        "not_found",
      );
    });

    rule("is refused above the maximum number, also with concurrent starts", async (scene) => {
      const at = await createProcessOrigin(scene);
      const begun = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          beginTestProcess(
            scene,
            at,
            { id: buildProcessId(index), background: index % 2 === 0 },
            { most: 7 },
          ),
        ),
      );
      const refused = begun.filter(isRefused);
      assert.equal(refused.length, 93);
      assertRefused(requireValue(refused[0]), "too_many");
      const first = requireValue(begun.find((one) => !isRefused(one)));
      await endTestProcess(scene, throwIfRefused(first).id);
      throwIfRefused(await beginTestProcess(scene, at, { id: buildProcessId(100) }, { most: 7 }));
      assertRefused(await beginTestProcess(scene, at, { id: buildProcessId(101) }, { most: 7 }), "too_many");
    });

    rule("can be marked as running once", async (scene) => {
      const { id } = throwIfRefused(await beginTestProcess(scene, await createProcessOrigin(scene)));
      const running = await markTestProcessRunning(scene, id);
      const again = { id, keeper: "k2", pid: 8, startTime: "88", pty: true, now: T0 };
      assertRefused(await scene.store.processes.markProcessRunning(again), "not_allowed");
      assert.deepEqual(await scene.store.processes.getProcess({ asker: EVERYONE, id }), running);
      assertRefused(
        await scene.store.processes.markProcessRunning({ ...again, id: buildProcessId(9) }),
        "not_found",
      );
      await endTestProcess(scene, id);
      assertRefused(await scene.store.processes.markProcessRunning(again), "not_allowed");
    });

    rule("ends once: only the first end counts", async (scene) => {
      const { id } = await startTestProcess(scene);
      const ends = await Promise.all(
        [{ signal: "SIGKILL" }, { code: 0 }, { unknown: true } as const].map((exit) =>
          scene.store.processes.endProcess({ id, exit, now: T0 + 1 }),
        ),
      );
      assert.equal(ends.filter(isRefused).length, 2);
      const late = { id, exit: { code: 9 }, output: { from: 0, text: "late" }, now: T0 + 2 };
      assertRefused(await scene.store.processes.endProcess(late), "not_allowed");
      const ended = requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id }));
      assert.deepEqual(
        ended,
        throwIfRefused(requireValue(ends.find((one) => !isRefused(one)))),
        "later calls changed nothing",
      );
      assertRefused(await scene.store.processes.endProcess({ ...late, id: buildProcessId(9) }), "not_found");
    });

    rule("can be ended before it starts so that it never runs; a running one continues", async (scene) => {
      const at = await createProcessOrigin(scene);
      const ending = { exit: { unknown: true }, onlyIfStarting: true, now: T0 + 1 } as const;
      const { id } = throwIfRefused(await beginTestProcess(scene, at));
      const never = throwIfRefused(await scene.store.processes.endProcess({ id, ...ending }));
      assert.deepEqual(never.status, {
        state: "ended",
        at: ending.now,
        exit: { unknown: true, neverRan: true },
      });
      assert.equal(never.reported.end, true, "the caller reports its end");
      const late = { id, keeper: "k1", pid: 7, startTime: "77", pty: false, now: T0 };
      assertRefused(await scene.store.processes.markProcessRunning(late), "not_allowed");
      const other = throwIfRefused(await beginTestProcess(scene, at, { id: buildProcessId(2) })).id;
      const running = await markTestProcessRunning(scene, other);
      assertRefused(await scene.store.processes.endProcess({ id: other, ...ending }), "not_allowed");
      assert.deepEqual(await scene.store.processes.getProcess({ asker: EVERYONE, id: other }), running);
    });

    rule("stores its exit, as far as it is known", async (scene) => {
      const at = await createProcessOrigin(scene);
      const exits = [{ code: 0 }, { code: 137 }, { signal: "SIGTERM" }, { unknown: true }] as const;
      for (const [index, exit] of exits.entries()) {
        const { id } = throwIfRefused(await beginTestProcess(scene, at, { id: buildProcessId(index) }));
        await markTestProcessRunning(scene, id);
        const ended = throwIfRefused(await scene.store.processes.endProcess({ id, exit, now: T0 + 1 }));
        assert.deepEqual(ended.status, { state: "ended", at: T0 + 1, exit });
      }
    });
  });

  describe("the visibility of a process", () => {
    rule("is that of its session", async (scene) => {
      const { id, session } = await startTestProcess(scene);
      await appendTestOutput(scene, id, 0, "private");
      const { owner: person } = await scene.get(session);
      const { owner: bob } = await scene.talk(BOB, "hello", "hello");
      const { store } = scene;
      for (const [asker, sees] of [
        [{ person }, true],
        [EVERYONE, true],
        [{ person: bob }, false],
        [{ person, chat: GROUP }, false],
        [{ person: bob, chat: GROUP }, false],
      ] as const) {
        assert.equal((await store.processes.getProcess({ asker, id })) !== undefined, sees);
        assert.equal((await store.processes.readProcessOutput({ asker, id })) !== undefined, sees);
        assert.equal((await store.processes.listProcesses({ asker })).length, sees ? 1 : 0);
        assert.equal((await store.processes.listProcesses({ asker, session })).length, sees ? 1 : 0);
      }
      assert.equal(await store.processes.getProcess({ asker: EVERYONE, id: buildProcessId(9) }), undefined);
      assert.equal(
        await store.processes.readProcessOutput({ asker: EVERYONE, id: buildProcessId(9) }),
        undefined,
      );
    });

    rule("includes everybody in a shared chat, only there", async (scene) => {
      const turn = await scene.begin(inGroup("ann"), "hello", { scope: SCOPE_SHARED });
      const at = { session: turn.session, conversation: turn.conversation, target: inGroup("ann") };
      const { id } = throwIfRefused(await beginTestProcess(scene, at));
      const known = requireValue(
        await scene.store.access.getAccount({ platform: "telegram", userId: "ann" }),
      );
      const { person } = known;
      assert.equal((await scene.store.processes.listProcesses({ asker: { person } })).length, 0);
      assert.equal((await scene.store.processes.listProcesses({ asker: { person, chat: GROUP } })).length, 1);
      assert.equal(
        (await scene.store.processes.listProcesses({ asker: { person: "p_bob", chat: GROUP } })).length,
        1,
      );
      assert.notEqual(
        await scene.store.processes.getProcess({ asker: { person, chat: GROUP }, id }),
        undefined,
      );
    });

    rule("lists running processes, newest first, and those that ended since", async (scene) => {
      const ann = await createProcessOrigin(scene);
      const bob = await createProcessOrigin(scene, BOB);
      const { store } = scene;
      for (const [index, at] of [ann, ann, bob, ann].entries())
        throwIfRefused(
          await beginTestProcess(scene, at, { id: buildProcessId(index), background: index !== 1 }),
        );
      const listed = async (more: Partial<Parameters<typeof store.processes.listProcesses>[0]> = {}) =>
        (await store.processes.listProcesses({ asker: EVERYONE, ...more })).map(({ id }) =>
          Number.parseInt(id.slice(5), 16),
        );
      assert.deepEqual(await listed(), [3, 2, 0]);
      assert.deepEqual(await listed({ foreground: true }), [3, 2, 1, 0]);
      assert.deepEqual(await listed({ session: ann.session }), [3, 0]);
      assert.deepEqual(await listed({ session: "no such session" }), []);
      assert.deepEqual(await listed({ conversation: bob.conversation }), [2]);
      assert.deepEqual(await listed({ limit: 2 }), [3, 2]);
      await store.processes.endProcess({ id: buildProcessId(0), exit: { code: 0 }, now: T0 + 10 });
      await store.processes.endProcess({ id: buildProcessId(3), exit: { code: 0 }, now: T0 + 20 });
      assert.deepEqual(await listed(), [2]);
      assert.deepEqual(await listed({ endedSince: T0 + 11 }), [3, 2]);
      assert.deepEqual(await listed({ endedSince: T0 + 10 }), [3, 2, 0]);
      assert.deepEqual(await listed({ endedSince: T0 + 10, limit: 1 }), [3]);
      const rest = { endedSince: T0, session: ann.session, foreground: true };
      assert.deepEqual(await listed({ ...rest, conversation: ann.conversation }), [3, 1, 0]);
    });
  });

  describe("a keeper that crashes", () => {
    rule("leaves running processes to the next keeper, which marks them as detached", async (scene) => {
      const { store } = scene;
      const gone = scene.deadRunner ?? { id: "never seen", host: "", boot: "", pid: 0, started: "" };
      if (scene.deadRunner !== undefined) await store.runners.recordHeartbeat({ runner: gone, now: T0 });
      await scene.beat("k1");
      await scene.beat("k2");
      const at = await createProcessOrigin(scene);
      for (const [index, keeper] of [gone.id, "k1", "k2", "never beat"].entries()) {
        const { id } = throwIfRefused(await beginTestProcess(scene, at, { id: buildProcessId(index) }));
        await markTestProcessRunning(scene, id, { keeper });
      }
      const mine = await store.processes.adoptProcesses({ keeper: "k2", now: T0 });
      const kept = mine.map(({ id, status }) => [id, status.state === "running" && status.detached]);
      assert.deepEqual(kept, [
        [buildProcessId(0), true],
        [buildProcessId(2), false],
        [buildProcessId(3), true],
      ]);
      assert.deepEqual(await store.processes.adoptProcesses({ keeper: "k2", now: T0 }), mine);
      const more = { id: buildProcessId(0), from: 0, text: "words" };
      throwIfRefused(await store.processes.appendProcessOutput({ ...more, keeper: "k2" }));
      assertRefused(await store.processes.appendProcessOutput({ ...more, keeper: gone.id }), "not_allowed");
      const other = requireValue(
        await store.processes.getProcess({ asker: EVERYONE, id: buildProcessId(1) }),
      );
      assert.equal(other.status.state === "running" && other.status.keeper, "k1", "it lives");
    });

    rule(
      "leaves running processes to a keeper that continues with their output at the stored position",
      async (scene) => {
        const { store } = scene;
        await scene.beat("k2");
        const at = await createProcessOrigin(scene);
        const { id } = throwIfRefused(await beginTestProcess(scene, at, { timeoutMs: 5000 }));
        await markTestProcessRunning(scene, id, { keeper: "gone" });
        throwIfRefused(
          await store.processes.appendProcessOutput({
            id,
            keeper: "gone",
            from: 0,
            text: "one",
            readTo: "0:3:0",
          }),
        );
        throwIfRefused(
          await store.processes.appendProcessOutput({
            id,
            keeper: "gone",
            from: 3,
            text: "",
            matched: ["one"],
          }),
        );
        const [mine] = await store.processes.adoptProcesses({ keeper: "k2", attachable: [id], now: T0 });
        const { status, readTo, timeoutMs, total } = requireValue(mine);
        assert.equal(status.state === "running" && status.detached, false);
        assert.deepEqual({ readTo, timeoutMs, total }, { readTo: "0:3:0", timeoutMs: 5000, total: 3 });
      },
    );

    rule("keeps its processes on another machine for ten minutes without a heartbeat", async (scene) => {
      const { store } = scene;
      await scene.beat("k1");
      const { id } = throwIfRefused(await beginTestProcess(scene, await createProcessOrigin(scene)));
      await markTestProcessRunning(scene, id, { keeper: "k1" });
      const adopt = (now: number) => store.processes.adoptProcesses({ keeper: "k2", now });
      assert.deepEqual(await adopt(T0 + 10 * MINUTE - 1), []);
      assert.deepEqual(
        (await adopt(T0 + 10 * MINUTE)).map((process) => process.id),
        [id],
      );
    });

    rule("leaves a process that it had not started: it ends without having run", async (scene) => {
      const { store } = scene;
      await scene.beat("k1");
      const { id } = throwIfRefused(await beginTestProcess(scene, await createProcessOrigin(scene)));
      assert.deepEqual(await store.processes.adoptProcesses({ keeper: "k1", now: T0 + 30_000 }), []);
      const waits = requireValue(await store.processes.getProcess({ asker: EVERYONE, id }));
      assert.equal(waits.status.state, "starting", "its keeper may be starting");
      assert.deepEqual(await store.processes.adoptProcesses({ keeper: "k1", now: T0 + 30_001 }), []);
      const ended = requireValue(await store.processes.getProcess({ asker: EVERYONE, id }));
      assert.deepEqual(ended.status, {
        state: "ended",
        at: T0 + 30_001,
        exit: { unknown: true, neverRan: true },
      });
    });
  });

  describe("a report about a process", () => {
    rule("is due for processes that run with a watch, or have ended without a report", async (scene) => {
      const at = await createProcessOrigin(scene);
      const { store } = scene;
      const watches: readonly Partial<NewProcess>[] = [
        { watch: WATCHED },
        { watch: UNWATCHED },
        { watch: { ...UNWATCHED, wakes: true } },
        { watch: WATCHED, background: false },
      ];
      for (const [index, more] of watches.entries()) {
        const { id } = throwIfRefused(
          await beginTestProcess(scene, at, { ...more, id: buildProcessId(index) }),
        );
        await markTestProcessRunning(scene, id);
      }
      const watched = async () => (await store.processes.listWatchedProcesses()).map(({ id }) => id);
      assert.deepEqual(await watched(), [buildProcessId(0), buildProcessId(2)]);
      for (const index of watches.keys()) await endTestProcess(scene, buildProcessId(index));
      assert.deepEqual(await watched(), [buildProcessId(0), buildProcessId(2)]);
      const before = { upTo: 0, matches: 0, end: false };
      const told = { process: buildProcessId(0), before, upTo: 0, matches: 0, end: true, now: T0 };
      assert.equal(await store.processes.markProcessReported(told), true);
      assert.deepEqual(await watched(), [buildProcessId(2)]);
    });

    rule("is recorded once, also with concurrent reporters", async (scene) => {
      const { id } = await startTestProcess(scene);
      await appendTestOutput(scene, id, 0, "words", ["words"]);
      const before = { upTo: 0, matches: 0, end: false };
      const tell = { process: id, before, upTo: 5, matches: 1, end: false, now: T0 + 3 };
      const told = await Promise.all(
        Array.from({ length: 20 }, () => scene.store.processes.markProcessReported(tell)),
      );
      assert.equal(told.filter(Boolean).length, 1);
      const found = requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id }));
      assert.deepEqual(found.reported, { upTo: 5, at: T0 + 3, matches: 1, end: false });
      for (const stale of [
        { upTo: 4, matches: 1, end: false },
        { upTo: 5, matches: 0, end: false },
        { upTo: 5, matches: 1, end: true },
      ])
        assert.equal(await scene.store.processes.markProcessReported({ ...tell, before: stale }), false);
      assert.equal(
        await scene.store.processes.markProcessReported({ ...tell, process: buildProcessId(9) }),
        false,
      );
    });

    rule("is recorded in the commit of its message", async (scene) => {
      const { id, session } = await startTestProcess(scene);
      const before = { upTo: 0, matches: 0, end: false };
      const parts = [{ type: "text" as const, text: "it runs" }];
      const tells = { process: id, before, upTo: 5, matches: 0, end: false, isProgress: true };
      const deliveries = [{ target: ANN, parts }];
      const enqueued = await Promise.all(
        Array.from({ length: 20 }, () =>
          scene.store.outbox.enqueue({ deliveries, runner: "r1", session, processReport: tells, now: T0 }),
        ),
      );
      const stored = enqueued.flatMap((one) => one.deliveries);
      assert.equal(stored.length, 1);
      const due = await scene.store.outbox.listPendingDeliveries({ dueAt: T0, limit: 99 });
      assert.deepEqual(due, stored, "nothing was stored for the later calls");
      const found = requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id }));
      const progress = requireValue(stored[0]).number;
      assert.deepEqual(found.reported, { upTo: 5, at: T0, matches: 0, end: false, progress });
      const end = { process: id, before: { ...before, upTo: 5 }, upTo: 5, matches: 0, end: true };
      const last = await scene.store.outbox.enqueue({
        deliveries,
        runner: "r1",
        session,
        processReport: end,
        now: T0 + 1,
      });
      assert.equal(last.deliveries.length, 1);
      const after = requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id }));
      assert.deepEqual(after.reported, { upTo: 5, at: T0 + 1, matches: 0, end: true, progress });
    });
  });
}
