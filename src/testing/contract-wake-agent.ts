import assert from "node:assert/strict";
import type { NewProcess } from "../core/process.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { WakeResult } from "../ports/process-store.ts";
import {
  ANN,
  assertRejects,
  EVERYONE,
  HOUR,
  readTexts,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const LATER = T0 + HOUR;
const ENDED = user("Process proc_000000000001 has ended.");

/** Reports of the end of a process to its agent. */
export function defineWakeAgentRules({ describe }: TestApi, rule: StoreRule): void {
  describe("the wake message of a process", () => {
    rule("starts a turn in the session that started the process, if that is free", async (scene) => {
      const { session, conversation, process } = await createEndedProcess(scene);
      const woken = await wakeAgent(scene, process);
      assert.equal(woken.state, "woken");
      const turn = requireValue(woken.state === "woken" ? woken.turn : undefined);
      assert.deepEqual(
        [turn.session, turn.conversation, turn.target, turn.attempt],
        [session, conversation, ANN, 1],
      );
      const [said] = requireValue(
        await scene.store.messages.listMessages({ asker: EVERYONE, session, after: 2 }),
      );
      assert.deepEqual([said?.role, said?.origin?.proactive, said?.at], ["user", true, LATER]);
      const found = requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id: process }));
      assert.equal(found.reported.end, true);
    });

    rule("does not count as a human message, and not as activity", async (scene) => {
      const { session, conversation, process } = await createEndedProcess(scene);
      const before = await scene.get(session);
      const woken = await wakeAgent(scene, process);
      const turn = requireValue(woken.state === "woken" ? woken.turn : undefined);
      await scene.finish(turn, "It went well.", { now: LATER + 1 });
      const after = await scene.get(session);
      assert.deepEqual([after.humanCount, after.messageCount], [before.humanCount, before.messageCount + 2]);
      assert.equal((await findConversation(scene, conversation)).activeAt, T0);
    });

    rule(
      "is not the target of an undo: the last human message is, with everything after it",
      async (scene) => {
        const { session, process } = await createEndedProcess(scene);
        const woken = await wakeAgent(scene, process);
        await scene.finish(requireValue(woken.state === "woken" ? woken.turn : undefined), "It went well.");
        const undo = { asker: EVERYONE, session, kind: "undo", now: LATER } as const;
        const { firstCut, length } = throwIfRefused(await scene.store.messages.changeView(undo));
        assert.deepEqual([readTexts([requireValue(firstCut)]), length], [["build it"], 0]);
      },
    );

    rule("is pending while a turn runs, and is claimed after it", async (scene) => {
      const { store } = scene;
      const { session, conversation, process } = await createEndedProcess(scene);
      const running = await scene.begin(ANN, "meanwhile", { now: T0 + 1 });
      const woken = await wakeAgent(scene, process);
      assert.deepEqual(woken, { state: "woken", session });
      const next = { runner: "r1", take: "one" as const };
      const { next: turn } = await scene.finish(running, "yes", { next, now: T0 + 2 });
      assert.deepEqual(requireValue(turn).target, ANN);
      assert.equal((await findConversation(scene, conversation)).activeAt, T0 + 2);
      await scene.finish(requireValue(turn), "It went well.", { now: LATER });
      assert.equal((await findConversation(scene, conversation)).activeAt, T0 + 2);
      assert.deepEqual((await scene.shows(session)).slice(-4), [
        "meanwhile",
        "yes",
        "Process proc_000000000001 has ended.",
        "It went well.",
      ]);
      assert.deepEqual(await store.processes.listWatchedProcesses(), []);
    });

    rule("counts as activity together with a human message in the same turn", async (scene) => {
      const { conversation, process } = await createEndedProcess(scene);
      const running = await scene.begin(ANN, "meanwhile", { now: T0 + 1 });
      await wakeAgent(scene, process);
      await scene.accept(ANN, "and this", { now: T0 + 2 });
      const next = { runner: "r1", take: "all" as const };
      const { next: turn } = await scene.finish(running, "yes", { next, now: T0 + 3 });
      assert.equal(requireValue(turn).inputs.length, 2);
      await scene.finish(requireValue(turn), "both", { now: LATER });
      assert.equal((await findConversation(scene, conversation)).activeAt, LATER);
    });

    rule("is stored once, also with concurrent callers", async (scene) => {
      const { session, process } = await createEndedProcess(scene);
      const woken = await Promise.all([1, 2, 3].map(() => wakeAgent(scene, process)));
      assert.deepEqual(woken.map(({ state }) => state).toSorted(), ["told", "told", "woken"]);
      await scene.reopen();
      assert.deepEqual(await wakeAgent(scene, process), { state: "told" });
      assert.deepEqual(await wakeAgent(scene, "proc_ffffffffffff"), { state: "told" });
      assert.equal((await scene.shows(session)).filter((line) => line.startsWith("Process")).length, 1);
    });

    rule("is not stored for a session that the conversation has left", async (scene) => {
      const { session, process } = await createEndedProcess(scene);
      await scene.open(ANN, { fresh: true, now: T0 + 1 });
      const before = await scene.shows(session);
      assert.deepEqual(await wakeAgent(scene, process), { state: "elsewhere" });
      assert.deepEqual(await scene.shows(session), before);
      const found = requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id: process }));
      assert.equal(found.reported.end, false);
    });

    rule(
      "is not stored after the conversation has expired: the next message starts a new session",
      async (scene) => {
        const { conversation, process } = await createEndedProcess(scene);
        const reset = { idleBefore: LATER };
        const done = await scene.store.conversations.expireConversation({ conversation, reset, now: LATER });
        assert.equal(done.expired, true);
        assert.deepEqual(await wakeAgent(scene, process), { state: "elsewhere" });
      },
    );

    rule("causes no reset, after any idle time", async (scene) => {
      const { session, process } = await createEndedProcess(scene);
      const woken = await wakeAgent(scene, process, T0 + 1000 * HOUR);
      assert.equal(woken.state === "woken" && woken.turn?.session, session);
    });

    rule("is cancelled with the other pending messages", async (scene) => {
      const { store } = scene;
      const { session, conversation, process } = await createEndedProcess(scene);
      const running = await scene.begin(ANN, "meanwhile");
      await wakeAgent(scene, process);
      await scene.accept(ANN, "and this");
      const cancelled = await store.inbox.cancelPending({ conversation, now: LATER });
      assert.deepEqual(readTexts(cancelled.map((message, seq) => ({ session, seq, at: T0, ...message }))), [
        "Process proc_000000000001 has ended.",
        "and this",
      ]);
      await scene.finish(running, "yes");
      assert.equal(await scene.claim(session), undefined);
      assert.deepEqual(await wakeAgent(scene, process), { state: "told" });
    });

    rule("is retried when its runner crashes, and still does not count as activity", async (scene) => {
      const { session, conversation, process } = await createEndedProcess(scene);
      const woken = await wakeAgent(scene, process);
      assert.ok(woken.state === "woken");
      const again = requireValue(await scene.claim(session, "r2", LATER + HOUR));
      assert.deepEqual([again.attempt, again.inputs], [2, woken.turn?.inputs]);
      await scene.finish(again, "It went well.", { now: LATER + HOUR });
      assert.equal((await findConversation(scene, conversation)).activeAt, T0);
    });

    rule("is not stored before the process has ended", async (scene) => {
      const { process } = await createProcess(scene);
      await assertRejects(wakeAgent(scene, process), "invalid_input");
      const found = requireValue(await scene.store.processes.getProcess({ asker: EVERYONE, id: process }));
      assert.equal(found.reported.end, false);
    });
  });
}

const PROCESS: NewProcess = {
  id: "proc_000000000001",
  command: "make all",
  cwd: "/",
  background: true,
  pty: false,
  watch: { mode: "result", patterns: [], wakes: true },
};

async function createProcess(scene: Scene, target: Source = ANN) {
  const turn = await scene.begin(target, "build it");
  const { session, conversation } = turn;
  const { id } = throwIfRefused(
    await scene.store.processes.beginProcess({
      process: PROCESS,
      session,
      conversation,
      target,
      maxRunning: 9,
      now: T0,
    }),
  );
  await scene.finish(turn, "It is being built.");
  return { session, conversation, process: id };
}

/** A process of a session that has ended. */
async function createEndedProcess(scene: Scene) {
  const begun = await createProcess(scene);
  throwIfRefused(await scene.store.processes.endProcess({ id: begun.process, exit: { code: 0 }, now: T0 }));
  return begun;
}

async function wakeAgent({ store, beat }: Scene, process: string, now = LATER): Promise<WakeResult> {
  await beat("r1", now);
  return store.processes.wakeAgent({ process, message: ENDED, claim: { runner: "r1", take: "one" }, now });
}

async function findConversation({ store }: Scene, number: number) {
  const all = await store.conversations.findConversations({ asker: EVERYONE, source: ANN });
  return requireValue(all.find((one) => one.number === number));
}
