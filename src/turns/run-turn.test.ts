import { describe, expect, it } from "vitest";
import { look } from "../../test/support/database.ts";
import { deadRunner, heldAgent, me } from "../../test/support/talking.ts";
import { DAY, type Home, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { script } from "../agents/script.ts";
import { PostriderError } from "../core/errors.ts";
import { getText, type Message, type ToolCall, textPart } from "../core/message.ts";
import { EDITOR_PLATFORM } from "../core/platforms.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { resetNote } from "../core/reset-notice.ts";
import { DEFAULT_RESET_POLICY } from "../core/reset-policy.ts";
import { localSource } from "../core/source.ts";
import type { Turn } from "../core/turn.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import type { Tool } from "../ports/tool.ts";
import { buildRouting } from "../sessions/routing.ts";
import { localRunner } from "../system/local-runner.ts";
import { runTurn } from "./run-turn.ts";
import type { TurnContext, TurnEnd, TurnHooks } from "./turn-hooks.ts";

const never = new AbortController().signal;
const COMMANDS = [
  ["proc_000000000001", "false"],
  ["proc_000000000002", "sleep 9"],
  ["proc_000000000003", "on its way"],
] as const;
let numbers = 0;

async function accept(home: Home, words: string, runner = localRunner()) {
  const { store, clock } = home;
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  numbers += 1;
  const reset = { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} };
  const accepted = await store.inbox.accept({
    ...buildRouting(localSource(), { zone: "UTC", profile: "main", reset, scope: {}, clock }),
    messageId: `m${numbers}`,
    message: { role: "user", parts: [textPart(words)] },
    claim: { runner: runner.id, take: "one" },
  });
  if (accepted.duplicate || accepted.tooMany !== undefined) throw new Error("not taken");
  return { ...accepted, runner: runner.id };
}

/** A claimed turn with this input. */
async function begin(home: Home, words: string): Promise<Turn> {
  const { turn } = await accept(home, words);
  if (turn === undefined) throw new Error("the session was not free");
  return turn;
}

type RunOptions = Partial<TurnContext> & TurnHooks;

function run(home: Home, turn: Turn, agent: Agent, options: RunOptions = {}): Promise<TurnEnd> {
  const { store, clock } = home;
  const context = { store, agent, clock, claimNext: () => undefined, signal: never, ...options };
  return runTurn(turn, context, options);
}

async function readVisible({ sessions }: Home, session: string): Promise<readonly Message[]> {
  return (await sessions.history(me, session)) ?? [];
}

const listTurns = ({ file }: Home): unknown[] =>
  look(file, (db) => db.prepare("select state from turns order by n").pluck().all());
const getHolder = ({ file }: Home): unknown =>
  look(file, (db) => db.prepare("select lease_holder from sessions").pluck().get());

describe("a turn", () => {
  it("stores the answer, reports its inputs and events, and releases the session", async () => {
    const home = await openHome();
    const turn = await begin(home, "hello");
    const [begun, events]: [string[], AgentEvent[]] = [[], []];
    const end = await run(home, turn, echo, {
      onStart: (inputs) => begun.push(...inputs.map(getText)),
      onEvent: (event) => events.push(event),
    });
    expect(end).toEqual({ outcome: "done", text: "You said: hello", seqs: [2], deliveries: [] });
    expect(begun).toEqual(["hello"]);
    expect(events.map((event) => event.type === "text" && event.text)).toEqual(["You ", "said: ", "hello"]);
    const [, answer] = await readVisible(home, turn.session);
    expect(answer).toMatchObject({ role: "assistant", seq: 2, parts: [textPart("You said: hello")] });
    expect(answer?.origin).toBeUndefined();
    expect([listTurns(home), getHolder(home)]).toEqual([["done"], null]);
  });

  it("gives the agent the visible messages in a form that every provider accepts, the input last", async () => {
    const home = await openHome();
    const first = await begin(home, "one");
    await run(home, first, script({ answers: [{ say: [{ fail: "no" }] }] }));
    const agent = heldAgent();
    const turn = await begin(home, "two");
    const ending = run(home, turn, agent);
    const held = await agent.asked();
    expect(held.turn.session).toBe(turn.session);
    // The failed answer has no text: no provider accepts an empty message.
    expect(held.turn.history.map(getText)).toEqual(["one", "two"]);
    held.end();
    expect(await ending).toMatchObject({ outcome: "done", text: "" });
    expect((await readVisible(home, turn.session)).at(-1)).toMatchObject({ role: "assistant", parts: [] });
  });

  it("that is stopped keeps the part of the answer that arrived, marked, and nothing that arrives later", async () => {
    const home = await openHome();
    const turn = await begin(home, "tell me");
    const abort = new AbortController();
    const agent = heldAgent({ deaf: true });
    const ending = run(home, turn, agent, {
      signal: abort.signal,
      onEvent: () => abort.abort(),
    });
    const held = await agent.asked();
    await held.say("Once upon ");
    held.send({ type: "text", text: "a time" }, { type: "usage", usage: { inputTokens: 4 } });
    held.break(new Error("aborted"));
    expect(await ending).toMatchObject({ outcome: "interrupted", text: "Once upon " });
    const [, answer] = await readVisible(home, turn.session);
    expect(answer).toMatchObject({ parts: [textPart("Once upon ")], origin: { interrupted: true } });
    expect(answer?.extra).toBeUndefined();
    // The usage of a stopped answer counts.
    expect((await home.sessions.get(me, turn.session))?.usage.inputTokens).toBe(4);
    expect(listTurns(home)).toEqual(["interrupted"]);
  });

  it("that is stopped lets no agent make a call with an outside effect, because the call is not stored", async () => {
    const home = await openHome();
    const turn = await begin(home, "send the letter");
    let sent = 0;
    const agent: Agent = {
      name: "deaf",
      async *run() {
        const call = { id: "1", name: "letter", arguments: {}, effect: "external" } as const;
        yield { type: "tool_call", call };
        sent += 1;
      },
    };
    const { outcome } = await run(home, turn, agent, { signal: AbortSignal.abort() });
    expect([outcome, sent]).toEqual(["interrupted", 0]);
  });

  it("that is stopped does not wait for an agent that ignores the signal", async () => {
    const home = await openHome();
    const turn = await begin(home, "tell me");
    const abort = new AbortController();
    const agent = heldAgent({ deaf: true });
    const ending = run(home, turn, agent, { signal: abort.signal, onEvent: () => abort.abort() });
    await (await agent.asked()).say("Once");
    expect(await ending).toMatchObject({ outcome: "interrupted", text: "Once" });
  });

  it("that fails keeps the part of the answer that arrived, and the reason", async () => {
    const home = await openHome();
    const turn = await begin(home, "hello");
    const end = await run(
      home,
      turn,
      script({ answers: [{ say: ["Well, ", { fail: "The line is dead." }] }] }),
    );
    expect(end).toMatchObject({ outcome: "failed", text: "Well, ", reason: "The line is dead." });
    const [, answer] = await readVisible(home, turn.session);
    expect(answer).toMatchObject({
      parts: [textPart("Well, ")],
      finishReason: "error",
      extra: { error: "The line is dead." },
      origin: { interrupted: true },
    });
    expect([listTurns(home), getHolder(home)]).toEqual([["failed"], null]);
  });

  it.each([
    [new Error("no key"), "no key"],
    ["no key", "no key"],
    [undefined, "undefined"],
    [null, "null"],
  ])("is not left open by an agent that throws %s", async (thrown, reason) => {
    const home = await openHome();
    const turn = await begin(home, "hello");
    const agent = heldAgent();
    const heard: AgentEvent[] = [];
    const ending = run(home, turn, agent, { onEvent: (event) => heard.push(event) });
    const held = await agent.asked();
    await held.say("So far");
    held.break(thrown);
    expect(await ending).toMatchObject({
      outcome: "failed",
      text: "So far",
      reason: `The agent failed: ${reason}`,
    });
    expect(heard.at(-1)).toEqual({ type: "failed", reason: `The agent failed: ${reason}` });
    expect((await readVisible(home, turn.session)).map(getText)).toEqual(["hello", "So far"]);
    expect(listTurns(home)).toEqual(["failed"]);
  });

  it("is not left open by an agent that throws before its first event, or reports an invalid usage", async () => {
    const home = await openHome();
    const broken: Agent = {
      name: "broken",
      run: () => {
        throw new Error("not configured");
      },
    };
    expect(await run(home, await begin(home, "a"), broken)).toMatchObject({ outcome: "failed" });
    const agent = heldAgent();
    const turn = await begin(home, "b");
    const ending = run(home, turn, agent);
    const held = await agent.asked();
    await held.say("fine");
    held.send({ type: "usage", usage: { inputTokens: -1 } });
    held.end();
    expect(await ending).toMatchObject({ outcome: "failed", text: "fine" });
    expect((await readVisible(home, turn.session)).map(getText)).toEqual(["a", "", "b", "fine"]);
  });

  it("stores no half of a character", async () => {
    const home = await openHome();
    const turn = await begin(home, "hello");
    await run(home, turn, script({ answers: [{ say: ["a\ud83d", "\ude42b\ud83d"] }] }));
    expect((await readVisible(home, turn.session)).map(getText)).toEqual(["hello", "a🙂b\ufffd"]);
  });

  it("records the usage, the sum of several requests", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const turn = await begin(home, "hello");
    const ending = run(home, turn, agent);
    const held = await agent.asked();
    held.send(
      {
        type: "usage",
        usage: { inputTokens: 10, outputTokens: 1, lastPromptTokens: 10, costUsd: 0.5, costStatus: "exact" },
      },
      { type: "usage", usage: { inputTokens: 20, outputTokens: 2, lastPromptTokens: 20, model: "m" } },
    );
    // The second request reports no cost, so the sum is partial.
    held.end();
    await ending;
    expect((await home.sessions.get(me, turn.session))?.usage).toMatchObject({
      inputTokens: 30,
      outputTokens: 3,
      totalTokens: 33,
      lastPromptTokens: 20,
      costUsd: 0.5,
      costStatus: "partial",
      model: "m",
    });
  });

  it("stores the usage with the call of a tool, so that a crash during the call does not lose it", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const turn = await begin(home, "mail it");
    const ending = run(home, turn, agent);
    const held = await agent.asked();
    const call = { id: "c1", name: "mail", arguments: {}, effect: "external" } as const;
    held.send(
      { type: "usage", usage: { inputTokens: 10, lastPromptTokens: 10 } },
      { type: "tool_call", call },
    );
    await held.say("Sent.");
    expect((await home.sessions.get(me, turn.session))?.usage.inputTokens).toBe(10);
    held.send({ type: "usage", usage: { inputTokens: 20, lastPromptTokens: 30 } });
    held.end();
    await ending;
    const { usage } = (await home.sessions.get(me, turn.session)) ?? {};
    expect([usage?.inputTokens, usage?.lastPromptTokens]).toEqual([30, 30]);
  });

  it("counts the usage of a turn that is handed over or taken over", async () => {
    const home = await openHome();
    const stop = new AbortController();
    const agent = heldAgent();
    const turn = await begin(home, "hello");
    const ending = run(home, turn, agent, { signal: stop.signal, isHandedOver: () => true });
    const held = await agent.asked();
    held.send({ type: "usage", usage: { inputTokens: 10, lastPromptTokens: 10 } });
    await held.say("Once ");
    stop.abort();
    await expect(ending).rejects.toMatchObject({ code: "closed" });
    const readUsage = async () => {
      const { usage } = (await home.sessions.get(me, turn.session)) ?? {};
      return [usage?.inputTokens, usage?.lastPromptTokens];
    };
    expect(await readUsage()).toEqual([10, 0]);
    const late = { ...turn, fence: turn.fence - 1 };
    const counting = script({ answers: [{ say: "x", usage: { input_tokens: 5, last_prompt_tokens: 5 } }] });
    await expect(run(home, late, counting)).rejects.toMatchObject({ code: "stale_fence" });
    expect(await readUsage()).toEqual([15, 0]);
    const acting: Agent = {
      name: "acting",
      async *run() {
        yield { type: "usage", usage: { inputTokens: 100 } };
        yield { type: "tool_call", call: { id: "1", name: "mail", arguments: {}, effect: "external" } };
      },
    };
    await expect(run(home, late, acting)).rejects.toMatchObject({ code: "stale_fence" });
    expect(await readUsage()).toEqual([115, 0]);
  });

  it.each(["none", "external"] as const)(
    "stores a long output whole, for everybody who may see the session (effect %s)",
    async (effect) => {
      const home = await openHome();
      const turn = await begin(home, "print");
      const long = `first\n${"x".repeat(100_000)}\nlast`;
      const printing: Tool = {
        name: "printing",
        description: "prints",
        input: { type: "object" },
        effect,
        run: async () => ({ parts: [textPart(long)] }),
      };
      const agent = script({ answers: [{ say: [{ use: "printing" }, "ok"] }] });
      await run(home, turn, agent, { prepare: async () => ({ tools: [printing] }) });
      const [, , result] = await readVisible(home, turn.session);
      expect(result?.parts).toMatchObject([{ type: "text" }, { type: "file", name: "output.txt" }]);
      const [excerpt, file] = result?.parts ?? [];
      if (excerpt?.type !== "text" || file?.type !== "file") throw new Error("unexpected parts");
      expect(excerpt.text).toMatch(
        /^first\nx+\n\n\[.* The whole is kept as output:[0-9a-f]{64}\]\n\nx+\nlast$/,
      );
      const kept = async (person: string) =>
        new TextDecoder().decode(await home.store.messages.readBlob({ asker: { person }, hash: file.blob }));
      expect([await kept("owner"), await kept("p_other")]).toEqual([long, ""]);
    },
  );

  it("claims the next pending message in the commit that ends it, unless the process drains", async () => {
    const home = await openHome();
    const turn = await begin(home, "one");
    const { runner } = await accept(home, "two");
    await accept(home, "three");
    const end = await run(home, turn, echo, { claimNext: () => ({ runner, take: "one" }) });
    expect(end.next).toMatchObject({ session: turn.session, inputs: [3] });
    expect(listTurns(home)).toEqual(["done", "running"]);
    if (end.next === undefined) throw new Error("nothing was claimed");
    const last = await run(home, end.next, echo);
    expect(last.next).toBeUndefined();
    const waiting = await home.store.inbox.listPending({ asker: me, session: turn.session });
    expect(waiting.map(getText)).toEqual(["three"]);
  });

  it("gives the model the note of a new session once, also after a crash", async () => {
    const home = await openHome();
    await run(home, await begin(home, "before"), echo);
    home.clock.pass(2 * DAY);
    const dead = deadRunner();
    const accepted = await accept(home, "after", dead);
    expect(accepted.fresh).toMatchObject({ reason: "idle", noteDue: true, noticeDue: true });

    // Its process crashed; the next runner gives the model the note.
    const runner = localRunner();
    await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
    const by = { runner: runner.id, take: "one" } as const;
    const again = await home.store.turns.claim({
      session: accepted.session.id,
      ...by,
      now: home.clock.now(),
    });
    expect(again?.attempt).toBe(2);

    const notes: (string | undefined)[] = [];
    for (const next of [() => Promise.resolve(again), async () => (await accept(home, "later")).turn]) {
      const turn = await next();
      const agent = heldAgent();
      if (turn === undefined) throw new Error("the session was not free");
      const ending = run(home, turn, agent);
      const held = await agent.asked();
      notes.push(held.turn.note);
      held.end();
      await ending;
    }
    expect(notes).toEqual([resetNote("idle"), undefined]);
  });

  it("that crashed its process twice is not tried a third time, and the person gets the reason", async () => {
    const home = await openHome();
    const { session } = await accept(home, "fatal", deadRunner());
    for (const expected of [2, 3]) {
      const runner = expected === 3 ? localRunner() : deadRunner();
      await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
      const turn = await home.store.turns.claim({
        session: session.id,
        runner: runner.id,
        take: "one",
        now: home.clock.now(),
      });
      expect(turn?.attempt).toBe(expected);
      if (turn === undefined || expected < 3) continue;
      const agent: Agent = {
        name: "fatal",
        run: () => {
          throw new Error("must not be asked");
        },
      };
      expect(await run(home, turn, agent)).toMatchObject({
        outcome: "failed",
        reason: "Postrider ended 2 times while this was being answered, so it was not tried again.",
      });
    }
    expect((await readVisible(home, session.id)).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  describe("whose process crashed after a part of the answer was shown", () => {
    /** The turn as the next runner claims it, with the messages and the draft of the crashed one. */
    async function leaveCrashedTurn(
      home: Home,
      attempt: 2 | 3 = 2,
      toolCalls?: readonly ToolCall[],
    ): Promise<Turn> {
      const { store, clock } = home;
      const { session, turn: begun } = await accept(home, "tell me", deadRunner());
      if (begun === undefined) throw new Error("the session was not free");
      const { number, fence } = begun;
      const asked = { asker: { everyone: true }, session: session.id, fence, now: clock.now() } as const;
      if (toolCalls !== undefined) {
        const messages = [{ role: "assistant", parts: [textPart("First I look.")], toolCalls } as const];
        throwIfRefused(await store.messages.append({ ...asked, messages }));
      }
      throwIfRefused(
        await store.turns.saveDraft({ turn: number, fence, answerDraft: { text: "Once upon", thought: "" } }),
      );
      for (let last = 1; ; ) {
        const runner = last + 1 === attempt ? localRunner() : deadRunner();
        await store.runners.recordHeartbeat({ runner, now: clock.now() });
        const by = { session: session.id, runner: runner.id, take: "one", now: clock.now() } as const;
        const turn = await store.turns.claim(by);
        if (turn === undefined) throw new Error("nothing was left");
        last = turn.attempt;
        if (last === attempt) return turn;
      }
    }

    const readStored = async (home: Home, { session }: Turn) =>
      (await readVisible(home, session)).slice(1).map(({ origin, ...message }) => ({
        said: getText(message),
        isInterrupted: origin?.interrupted === true,
      }));

    it("keeps that part when the second attempt is stopped before its first text", async () => {
      const home = await openHome();
      const turn = await leaveCrashedTurn(home);
      const agent = heldAgent();
      const stop = new AbortController();
      const ending = run(home, turn, agent, { signal: stop.signal });
      await agent.asked();
      stop.abort();
      expect(await ending).toMatchObject({ outcome: "interrupted", text: "Once upon" });
      expect(await readStored(home, turn)).toEqual([{ said: "Once upon", isInterrupted: true }]);
    });

    it("keeps that part when the second attempt fails, with the reason and the usage", async () => {
      const home = await openHome();
      const turn = await leaveCrashedTurn(home);
      const agent = heldAgent();
      const ending = run(home, turn, agent);
      const held = await agent.asked();
      held.send({ type: "usage", usage: { inputTokens: 7 } }, { type: "failed", reason: "No credit." });
      held.end();
      expect(await ending).toMatchObject({ outcome: "failed", text: "Once upon", reason: "No credit." });
      expect(await readStored(home, turn)).toEqual([{ said: "Once upon", isInterrupted: true }]);
      const session = await home.sessions.get(me, turn.session);
      expect(session?.usage.inputTokens).toBe(7);
    });

    it("replaces that part with the whole answer, or with the part that the second attempt has shown since", async () => {
      const home = await openHome();
      const whole = await leaveCrashedTurn(home);
      expect(await run(home, whole, echo)).toMatchObject({ outcome: "done", text: "You said: tell me" });
      expect(await readStored(home, whole)).toEqual([{ said: "You said: tell me", isInterrupted: false }]);

      const again = await openHome();
      const turn = await leaveCrashedTurn(again);
      const agent = heldAgent();
      const stop = new AbortController();
      let keeping: Promise<void> | undefined;
      const ending = run(again, turn, agent, {
        signal: stop.signal,
        onEvent: (event, _text, saveDraft) => {
          if (event.type === "text") keeping = saveDraft();
        },
      });
      await (await agent.asked()).say("Long ago");
      await keeping;
      stop.abort();
      expect(await ending).toMatchObject({ outcome: "interrupted", text: "Long ago" });
      expect(await readStored(again, turn)).toEqual([{ said: "Long ago", isInterrupted: true }]);
    });

    it("keeps that part when it is not tried again, with the reason", async () => {
      const home = await openHome();
      const turn = await leaveCrashedTurn(home, 3);
      expect(await run(home, turn, echo)).toMatchObject({
        outcome: "failed",
        text: "Once upon",
        reason: expect.stringContaining("Postrider ended 2 times"),
      });
      expect(await readStored(home, turn)).toEqual([{ said: "Once upon", isInterrupted: true }]);
    });

    it("keeps all of it when a tool may have acted, also the text before the tool call", async () => {
      const home = await openHome();
      const call = { id: "c1", name: "terminal", arguments: {}, effect: "external" } as const;
      const turn = await leaveCrashedTurn(home, 2, [call]);
      expect(await run(home, turn, echo)).toMatchObject({
        outcome: "failed",
        text: "First I look.\n\nOnce upon",
        reason: expect.stringContaining("terminal may have acted"),
      });
      expect(await readStored(home, turn)).toMatchObject([
        { said: "First I look." },
        { said: "Once upon", isInterrupted: true },
      ]);
    });

    it("stores nothing twice when a message is stored while its draft is saved", async () => {
      const home = await openHome();
      const turn = await begin(home, "do it");
      const agent = heldAgent();
      const kept: Promise<void>[] = [];
      const ending = run(home, turn, agent, {
        onEvent: (_event, _text, saveDraft) => void kept.push(saveDraft()),
      });
      const held = await agent.asked();
      await held.say("First I look.");
      const call = { id: "c1", name: "terminal", arguments: {}, effect: "external" } as const;
      held.send({ type: "tool_call", call }, { type: "text", text: "Then I say." });
      await held.say(" More.");
      await Promise.all(kept);
      const row = look(home.file, (db) => db.prepare("select said from turns").pluck().get());
      expect(JSON.parse(String(row))).toMatchObject({ text: "Then I say. More." });
      held.end();
      await ending;
    });
  });

  it("whose process crashed while commands ran is not repeated, and the person gets the state of each command", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const { session, conversation, turn: begun } = await accept(home, "do it", deadRunner());
    const call = { id: "c1", name: "terminal", arguments: {}, effect: "external" as const };
    const messages = [{ role: "assistant" as const, parts: [], toolCalls: [call] }];
    const fence = begun?.fence ?? 0;
    await store.messages.append({ asker: me, session: session.id, messages, fence, now: clock.now() });
    const begin = async (id: string, command: string): Promise<void> => {
      const watch = { mode: "result", patterns: [], wakes: false } as const;
      const process = { id, command, cwd: "/", background: true, pty: false, watch };
      const where = { session: session.id, conversation: conversation.number, target: localSource() };
      throwIfRefused(
        await store.processes.beginProcess({ process, ...where, maxRunning: 64, now: clock.now() }),
      );
    };
    const keeper = localRunner();
    await store.runners.recordHeartbeat({ runner: keeper, now: clock.now() });
    for (const [id, command] of COMMANDS) {
      await begin(id, command);
      if (command === "on its way") continue;
      throwIfRefused(
        await store.processes.markProcessRunning({
          id,
          keeper: keeper.id,
          pid: 7,
          startTime: "7",
          pty: false,
          now: clock.now(),
        }),
      );
      if (command === "false")
        throwIfRefused(await store.processes.endProcess({ id, exit: { code: 1 }, now: clock.now() }));
    }
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    const again = await store.turns.claim({
      session: session.id,
      runner: runner.id,
      take: "one",
      now: clock.now(),
    });
    if (again === undefined) throw new Error("the turn was not claimed");
    const { outcome, reason } = await run(home, again, echo);
    expect(outcome).toBe("failed");
    expect(reason).toContain("terminal may have acted already");
    expect(reason?.split("\n\n").slice(1)).toEqual([
      "`false` ended with code 1.",
      "`sleep 9` still runs (proc_000000000002).",
      "`on its way` never started.",
    ]);
    // It never started: its end is not reported, and no process starts it later.
    const [id] = COMMANDS[2];
    expect((await store.processes.listWatchedProcesses()).map((one) => one.id)).not.toContain(id);
    const runs = { id, keeper: keeper.id, pid: 8, startTime: "8", pty: false, now: clock.now() };
    expect(await store.processes.markProcessRunning(runs)).toMatchObject({ refused: "not_allowed" });
  });

  it.each<[string, RunOptions]>([
    ["nobody can be asked", {}],
    ["asking fails", { approve: () => Promise.reject(new Error("no way to ask")) }],
    ["it was stopped", { approve: async () => "always", signal: AbortSignal.abort() }],
  ])("allows nothing where %s", async (_, more) => {
    const home = await openHome();
    const turn = await begin(home, "hello");
    const asked = Promise.withResolvers<string>();
    const agent: Agent = {
      name: "asking",
      async *run() {
        yield { type: "approval", request: { title: "run make" }, answer: asked.resolve };
      },
    };
    const answers: string[] = [];
    void asked.promise.then((answer) => answers.push(answer));
    await run(home, turn, agent, more);
    const heard = more.approve === undefined ? "unasked" : "deny";
    expect(answers).toEqual(more.signal === undefined ? [heard] : []);
  });

  it("lets a tool act only after its call is stored, however long the disk is full before", async () => {
    const home = await openHome();
    const turn = await begin(home, "send it");
    const done: string[] = [];
    const agent: Agent = {
      name: "acting",
      async *run() {
        yield { type: "tool_call", call: { id: "1", name: "mail", arguments: {}, effect: "external" } };
        done.push("sent");
        yield { type: "tool_result", id: "1", name: "mail", parts: [textPart("ok")] };
        yield { type: "text", text: "Sent." };
      },
    };
    let full = 2;
    const store: Store = {
      ...home.store,
      messages: {
        ...home.store.messages,
        async append(input) {
          if (full > 0) {
            full -= 1;
            expect(done).toEqual([]);
            throw new PostriderError("disk_full", "There is no room.");
          }
          return home.store.messages.append(input);
        },
      },
    };
    const delays: string[] = [];
    const onStoreDelayed = ({ code }: PostriderError): void => void delays.push(code);
    const end = await run(home, turn, agent, { store, onStoreDelayed });
    expect([end.outcome, done, delays]).toEqual(["done", ["sent"], ["disk_full", "disk_full"]]);
    const roles = (await readVisible(home, turn.session)).map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("stays open, and its tool does not act, when the call cannot be stored", async () => {
    const home = await openHome();
    const turn = await begin(home, "send it");
    const done: string[] = [];
    const agent: Agent = {
      name: "acting",
      async *run() {
        yield { type: "tool_call", call: { id: "1", name: "mail", arguments: {}, effect: "external" } };
        done.push("sent");
      },
    };
    const append = async (): Promise<never> => {
      throw new PostriderError("disk_full", "There is no room.");
    };
    const store: Store = { ...home.store, messages: { ...home.store.messages, append } };
    await expect(run(home, turn, agent, { store })).rejects.toMatchObject({ code: "disk_full" });
    expect(done).toEqual([]);
    expect(listTurns(home)).toEqual(["running"]);
  });

  it("calls the hook onEnd with its end, and with nothing when the end cannot be stored", async () => {
    const home = await openHome();
    const ends: (TurnEnd | undefined)[] = [];
    const onEnd = (end: TurnEnd | undefined): void => void ends.push(end);
    const end = await run(home, await begin(home, "one"), echo, { onEnd });
    const finish = async (): Promise<never> => {
      throw new PostriderError("disk_full", "There is no room.");
    };
    const store: Store = { ...home.store, turns: { ...home.store.turns, finish } };
    await expect(run(home, await begin(home, "two"), echo, { onEnd, store })).rejects.toThrow("no room");
    expect(ends).toEqual([end, undefined]);
  });

  it("fails when the agent throws an error of any code", async () => {
    const home = await openHome();
    const agent: Agent = {
      name: "breaking",
      // biome-ignore lint/correctness/useYield: it throws before its first value
      async *run() {
        throw new PostriderError("invalid_config", "There is no key.");
      },
    };
    const end = await run(home, await begin(home, "hello"), agent);
    expect(end).toMatchObject({ outcome: "failed", reason: "The agent failed: There is no key." });
    expect(listTurns(home)).toEqual(["failed"]);
  });

  it("that a crashed editor process left ends with the text so far, and its agent does not run again", async () => {
    const home = await openHome();
    const turn = await begin(home, "hello");
    const left = { ...turn, attempt: 2, target: { ...turn.target, platform: EDITOR_PLATFORM } };
    const end = await run(home, { ...left, answerDraft: { text: "You sa", thought: "" } }, echo);
    expect(end).toMatchObject({ outcome: "interrupted", text: "You sa" });
  });

  it.each([
    [0.5, ["summed up"]],
    [0.9, []],
  ])("compresses a conversation that fills %d of the model's window, if configured", async (at, expected) => {
    const home = await openHome();
    const first = await begin(home, "hello");
    await run(home, first, echo);
    for (let said = 0; said < 6; said += 1)
      await home.sessions.append(me, first.session, { role: "user", text: "word ".repeat(100) });
    const agent: Agent = { ...echo, contextWindow: 1200 };
    const notices: string[] = [];
    const tell = async (notice: string): Promise<void> => void notices.push(notice);
    await run(home, await begin(home, "go on"), agent, { compression: { at, notify: tell } });
    expect(notices.flatMap((notice) => /summed up/.exec(notice)?.[0] ?? [])).toEqual(expected);
  });

  it("that another runner took over stores nothing", async () => {
    const home = await openHome();
    const { session, turn } = await accept(home, "hello", deadRunner());
    if (turn === undefined) throw new Error("the session was not free");
    const runner = localRunner();
    await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
    const taken = await home.store.turns.claim({
      session: session.id,
      runner: runner.id,
      take: "one",
      now: home.clock.now(),
    });
    await expect(run(home, turn, echo)).rejects.toMatchObject({ code: "stale_fence" });
    expect((await readVisible(home, session.id)).map(getText)).toEqual(["hello"]);
    if (taken === undefined) throw new Error("the turn was not claimed");
    await run(home, taken, echo);
    expect((await readVisible(home, session.id)).map(getText)).toEqual(["hello", "You said: hello"]);
  });
});
