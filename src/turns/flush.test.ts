import { describe, expect, it } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { messengerRoom, telegram } from "../../test/support/messenger-room.ts";
import { DAY, type Home, openHome } from "../../test/support/test-home.ts";
import { wrapStore } from "../../test/support/wrap-store.ts";
import { callTool } from "../agents/call-tool.ts";
import { echo } from "../agents/echo.ts";
import type { MemoryChange } from "../core/memory.ts";
import { getText, textPart } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { SessionKind } from "../core/session.ts";
import { sumByPurpose } from "../core/usage.ts";
import { scheduleFlushWithHook } from "../gateway/report-session-left.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import { localRunner } from "../system/local-runner.ts";
import { type FlushContext, flusher, flushMemory } from "./flush.ts";

const all = { everyone: true } as const;
const never = new AbortController().signal;
const FOUR = ["I am Ada", "Hello Ada", "I live in Oslo", "Noted"];

/** An agent that calls the tool for each of these changes, and the turns that it got. */
function saving(...changes: readonly (MemoryChange | Record<string, unknown>)[]) {
  const turns: AgentTurn[] = [];
  const heard: AgentEvent[] = [];
  const agent: Agent = {
    name: "saving",
    canTitle: true,
    async *run(turn, signal) {
      turns.push(turn);
      for (const [n, change] of changes.entries()) {
        const call = { id: `call ${n}`, name: "memory", arguments: change };
        for await (const event of callTool(call, turn.tools ?? [], signal)) {
          heard.push(event);
          yield event;
        }
      }
      yield { type: "text", text: "Done." };
    },
  };
  return { agent, turns, heard };
}

const add = (words: string): MemoryChange => ({ action: "add", text: words });

interface Scene {
  readonly home: Home;
  readonly flow: FlushContext;
  readonly logged: string[];
}

async function openScene(more: Partial<FlushContext> = {}): Promise<Scene> {
  const home = await openHome();
  const logged: string[] = [];
  const note = (fields: Readonly<Record<string, unknown>>, words: string): void => {
    logged.push(`${words} ${String(fields.error ?? "")}`);
  };
  const runner = localRunner();
  await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
  const flow: FlushContext = {
    store: home.store,
    clock: home.clock,
    runner: runner.id,
    log: { debug: note, info: note, warn: note, error: note },
    settings: () => ({ memory: { enabled: true, flush: true } }),
    ...more,
  };
  return { home, flow, logged };
}

/** A session with these lines, by the person and the agent in turns, that its chat has left. */
async function left(
  { home }: Pick<Scene, "home">,
  lines: readonly string[] = FOUR,
  { owner = "p_ada", kind = "chat" }: { owner?: string; kind?: SessionKind } = {},
): Promise<string> {
  const { sessions, store, clock } = home;
  const { id } = await sessions.create({ person: owner }, { kind });
  const messages = lines.map((line, n) => ({
    role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
    parts: [textPart(line)],
  }));
  throwIfRefused(await store.messages.append({ asker: all, session: id, messages, now: clock.now() }));
  await store.memory.requestFlush({ session: id, now: clock.now() });
  return id;
}

async function readEntries(store: Store, owner = "p_ada"): Promise<readonly string[]> {
  return (await store.memory.getMemory({ owner })).entries;
}

const lastWords = (turn: AgentTurn | undefined): string => getText(turn?.history.at(-1) ?? { parts: [] });

describe("the flush of a session", () => {
  it("runs once, with the memory tool only, and stores its entries in the memory", async () => {
    const { home, flow } = await openScene();
    const session = await left({ home });
    const { agent, turns } = saving(add("is called Ada"), add("lives in Oslo"));
    await flushMemory(flow, agent, never);
    await flushMemory(flow, agent, never);
    expect(turns).toHaveLength(1);
    expect(turns[0]?.tools?.map(({ name }) => name)).toEqual(["memory"]);
    expect(turns[0]?.session).toBe(session);
    expect(turns[0]?.history.slice(0, -1).map((message) => [message.role, getText(message)])).toEqual([
      ["user", "I am Ada"],
      ["assistant", "Hello Ada"],
      ["user", "I live in Oslo"],
      ["assistant", "Noted"],
    ]);
    expect(turns[0]?.history.at(-1)?.role).toBe("user");
    expect(lastWords(turns[0])).toMatch(
      /^The conversation above .* Save with the memory tool .* If nothing is worth it, save nothing\. Nobody reads a reply, so write none\.$/,
    );
    expect(await readEntries(home.store)).toEqual(["is called Ada", "lives in Oslo"]);
  });

  it("counts its usage, whatever its outcome", async () => {
    const { home, flow } = await openScene();
    const used = (n: number): AgentEvent => ({
      type: "usage",
      usage: { inputTokens: n, lastPromptTokens: 999 },
    });
    const session = await left({ home });
    const readCounted = async (): Promise<unknown> => {
      const entries = (await home.sessions.usageEntries(all, session)) ?? [];
      const { lastPromptTokens } = (await home.sessions.get(all, session))?.usage ?? {};
      return [lastPromptTokens, ...sumByPurpose(entries).map((one) => [one.purpose, one.usage.inputTokens])];
    };
    const stop = new AbortController();
    const stopped: Agent = {
      name: "stopped",
      canTitle: true,
      async *run() {
        yield used(1);
        stop.abort();
        yield used(20);
      },
    };
    await flushMemory(flow, stopped, stop.signal);
    expect(await readCounted()).toEqual([0, ["flush", 21]]);
    await home.store.runners.retire({ runner: flow.runner });
    const failing: Agent = {
      name: "failing",
      canTitle: true,
      async *run() {
        yield used(300);
        yield { type: "failed", reason: "No credit." };
      },
    };
    await flushMemory(flow, failing, never);
    expect(await readCounted()).toEqual([0, ["flush", 321]]);
  });

  it("does not run for a job, a webhook, or a session of fewer than four messages", async () => {
    const { home, flow } = await openScene();
    await left({ home }, FOUR, { kind: "job" });
    await left({ home }, FOUR, { kind: "webhook" });
    await left({ home }, FOUR.slice(0, 3));
    let reads = 0;
    const store = wrapStore(home.store, ({ name, run }) => {
      if (name === "readHistory" || name === "listMessages") reads += 1;
      return run();
    });
    const { agent, turns } = saving(add("never"));
    await flushMemory({ ...flow, store }, agent, never);
    expect([turns.length, reads]).toEqual([0, 0]);
  });

  it("gets the memory, and the warning not to overwrite newer entries", async () => {
    const { home, flow } = await openScene();
    throwIfRefused(
      await home.store.memory.changeMemory({ owner: "p_ada", change: add("likes tea"), now: 1 }),
    );
    await left({ home });
    const { agent, turns } = saving();
    await flushMemory(flow, agent, never);
    expect(lastWords(turns[0])).toContain("- likes tea");
    expect(lastWords(turns[0])).toMatch(/never overwrite or contradict an entry that is newer/);
  });

  it("gets neither while the memory is empty", async () => {
    const { home, flow } = await openScene();
    throwIfRefused(
      await home.store.memory.changeMemory({ owner: "p_ada", change: add("likes tea"), now: 1 }),
    );
    throwIfRefused(
      await home.store.memory.changeMemory({
        owner: "p_ada",
        change: { action: "remove", old: "tea" },
        now: 1,
      }),
    );
    await left({ home });
    const { agent, turns } = saving();
    await flushMemory(flow, agent, never);
    expect(lastWords(turns[0])).not.toMatch(/## Memory|newer|likes tea/);
  });

  it("gets the newest messages of a long session, up to the point where it was left, without removed ones", async () => {
    const { home, flow } = await openScene();
    const long = Array.from({ length: 60 }, (_, n) => `${n}: ${"x".repeat(1000)}`);
    const session = await left({ home }, long);
    await home.sessions.undo(all, session);
    const messages = [{ role: "user" as const, parts: [textPart("said later")] }];
    throwIfRefused(
      await home.store.messages.append({ asker: all, session, messages, now: home.clock.now() }),
    );
    const { agent, turns } = saving();
    await flushMemory(flow, agent, never);
    const said = (turns[0]?.history ?? []).slice(0, -1).map(getText);
    expect(said.at(-1)).toMatch(/^57: /);
    const length = said.join("").length;
    expect(length).toBeLessThanOrEqual(40_000);
    expect(length).toBeGreaterThan(38_000);
  });

  it("overwrites no entry that was added meanwhile, and adds the entries that still fit", async () => {
    const { home, flow } = await openScene();
    throwIfRefused(
      await home.store.memory.changeMemory({ owner: "p_ada", change: add("lives in Rome"), now: 1 }),
    );
    await left({ home });
    const { agent } = saving({ action: "replace", old: "Rome", text: "lives in Oslo" }, add("is called Ada"));
    const meanwhile: Agent = {
      ...agent,
      async *run(turn, signal) {
        const change = { action: "replace", old: "Rome", text: "lives in Paris" } as const;
        throwIfRefused(await home.store.memory.changeMemory({ owner: "p_ada", change, now: 2 }));
        yield* agent.run(turn, signal);
      },
    };
    await flushMemory(flow, meanwhile, never);
    expect(await readEntries(home.store)).toEqual(["lives in Paris", "is called Ada"]);
  });

  it("does not change the session, though its person continues to write", async () => {
    const { home, flow } = await openScene();
    const room = await messengerRoom(home, echo);
    for (const words of ["one", "two", "three"]) await room.ask(words);
    const { session } = await room.ask("four");
    await home.store.memory.requestFlush({ session: session.id, now: home.clock.now() });
    const { agent } = saving(add("counts"));
    const chatting: Agent = {
      ...agent,
      async *run(turn, signal) {
        await room.ask("five");
        yield* agent.run(turn, signal);
      },
    };
    await flushMemory(flow, chatting, never);
    const shown = (await home.sessions.history(all, session.id))?.map(getText);
    expect(shown?.filter((_, n) => n % 2 === 0)).toEqual(["one", "two", "three", "four", "five"]);
    expect(shown).toHaveLength(10);
    expect(await readEntries(home.store, session.owner)).toEqual(["counts"]);
  });
});

describe("flushing sessions", () => {
  it("continues with others while one is slow", async () => {
    const { home, flow } = await openScene();
    const slow = await left({ home });
    for (const owner of ["p_1", "p_2", "p_3"]) await left({ home }, FOUR, { owner });
    const others = Promise.withResolvers<void>();
    let done = 0;
    const agent: Agent = {
      name: "slow",
      canTitle: true,
      async *run(turn) {
        if (turn.session === slow) await others.promise;
        else done += 1;
        if (done === 3) others.resolve();
        yield { type: "text", text: "Done." };
      },
    };
    await flushMemory(flow, agent, never);
    expect(done).toBe(3);
  });

  it("never runs more than two at once", async () => {
    const { home, flow } = await openScene();
    for (const owner of ["p_1", "p_2", "p_3", "p_4", "p_5"]) await left({ home }, FOUR, { owner });
    let [running, most] = [0, 0];
    const agent: Agent = {
      name: "counting",
      canTitle: true,
      async *run() {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        yield { type: "text", text: "Done." };
      },
    };
    await flushMemory(flow, agent, never);
    expect(most).toBe(2);
  });

  it("stops an agent that calls the tool too often, and keeps its entries", async () => {
    const { home, flow } = await openScene();
    await left({ home });
    const { agent, heard } = saving(...Array.from({ length: 20 }, (_, n) => add(`entry ${n}`)));
    await flushMemory(flow, agent, never);
    expect(heard.filter(({ type }) => type === "tool_result")).toHaveLength(8);
    expect(await readEntries(home.store)).toHaveLength(8);
  });

  it("reports to the agent why an entry is refused", async () => {
    const { home, flow } = await openScene();
    await left({ home });
    const { agent, heard } = saving(
      { action: "remove", old: "nothing" },
      { action: "forget" },
      add("a"),
      add("a"),
      { action: "replace", old: "a", text: "b" },
      add(" "),
    );
    await flushMemory(flow, agent, never);
    const results = heard.flatMap((event) => (event.type === "tool_result" ? [event.failed ?? false] : []));
    expect(results).toEqual([true, true, false, false, false, true]);
    expect(await readEntries(home.store)).toEqual(["b"]);
  });

  it("ends one that takes too long, stores nothing, and does not start it again", async () => {
    const { home, flow, logged } = await openScene({ timeoutMs: 20 });
    await left({ home });
    let runs = 0;
    const hanging: Agent = {
      name: "hanging",
      canTitle: true,
      async *run(turn, signal) {
        runs += 1;
        yield* saving(add("half of it")).agent.run(turn, signal);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    };
    await flushMemory(flow, hanging, never);
    await flushMemory(flow, hanging, never);
    expect([runs, await readEntries(home.store)]).toEqual([1, []]);
    expect(logged.join("\n")).toContain("took too long");
  });

  it("ends without entries when the agent fails, and logs the failure", async () => {
    const { home, flow, logged } = await openScene();
    const failing: readonly Agent["run"][] = [
      async function* (turn, signal) {
        yield* saving(add("half of it")).agent.run(turn, signal);
        yield { type: "failed", reason: "The model is away." };
      },
      // biome-ignore lint/correctness/useYield: it fails before its first word
      async function* () {
        throw new Error("The model is away.");
      },
    ];
    for (const run of failing) {
      await left({ home });
      await flushMemory(flow, { name: "failing", canTitle: true, run }, never);
    }
    expect(await readEntries(home.store)).toEqual([]);
    expect(logged.filter((line) => line.includes("The model is away."))).toHaveLength(2);
    expect(await home.store.memory.claimFlush({ runner: "another", now: home.clock.now() })).toBeUndefined();
  });

  it("accepts an empty answer: there is nothing to remember", async () => {
    const { home, flow, logged } = await openScene();
    await left({ home });
    const run: Agent["run"] = async function* () {
      yield { type: "failed", reason: "It gave an empty answer.", empty: true };
    };
    await flushMemory(flow, { name: "silent", canTitle: true, run }, never);
    expect(await readEntries(home.store)).toEqual([]);
    expect(logged.join("\n")).not.toContain("empty answer");
  });

  it("does not ask the echo agent", async () => {
    const { home, flow } = await openScene();
    await left({ home });
    const { agent, turns } = saving(add("never"));
    await flushMemory(flow, { ...agent, canTitle: false }, never);
    expect([turns.length, await readEntries(home.store)]).toEqual([0, []]);
    await flushMemory(flow, agent, never);
    expect(turns).toHaveLength(0);
  });

  it("asks no agent where the flush is disabled, and does not catch up later", async () => {
    const { home, flow } = await openScene();
    const { agent, turns } = saving(add("never"));
    for (const memory of [
      { enabled: false, flush: true },
      { enabled: true, flush: false },
    ]) {
      await left({ home });
      await flushMemory({ ...flow, settings: () => ({ memory }) }, agent, never);
    }
    await flushMemory(flow, agent, never);
    expect(turns).toHaveLength(0);
  });

  it("flushes only the sessions of the given owner", async () => {
    const { home, flow } = await openScene();
    await left({ home });
    await left({ home }, FOUR, { owner: "owner" });
    const { agent, turns } = saving(add("likes tea"));
    await flushMemory({ ...flow, owner: "owner" }, agent, never);
    expect([turns.length, await readEntries(home.store, "owner"), await readEntries(home.store)]).toEqual([
      1,
      ["likes tea"],
      [],
    ]);
  });
});

describe("a flush whose process crashed", () => {
  it("is started once more by another process, never a third time, and counts once", async () => {
    const { home, flow } = await openScene();
    const session = await left({ home });
    const dead = { ...localRunner(), pid: 4_194_999 };
    for (const attempt of [1, 2]) {
      await home.store.runners.recordHeartbeat({ runner: dead, now: home.clock.now() });
      const claimed = await home.store.memory.claimFlush({ runner: dead.id, now: home.clock.now() });
      expect(claimed).toMatchObject({ session, attempt });
    }
    const { agent, turns } = saving(add("never"));
    await flushMemory(flow, agent, never);
    home.clock.pass(DAY);
    await flushMemory(flow, agent, never);
    expect([turns.length, await readEntries(home.store)]).toEqual([0, []]);
  });

  it("is finished by the process that recovers it, and not again by the one that seemed to have crashed", async () => {
    const { home, flow } = await openScene();
    await left({ home });
    const dead = { ...localRunner(), pid: 4_194_999 };
    await home.store.runners.recordHeartbeat({ runner: dead, now: home.clock.now() });
    const first = await home.store.memory.claimFlush({ runner: dead.id, now: home.clock.now() });
    await flushMemory(flow, saving(add("once")).agent, never);
    const late = await home.store.memory.finishFlush({
      flush: first?.number ?? 0,
      runner: dead.id,
      changes: [add("twice")],
      now: home.clock.now(),
    });
    expect(late).toMatchObject({ refused: "stale_fence" });
    expect(await readEntries(home.store)).toEqual(["once"]);
  });

  it("stays for the next process after a shutdown, and no part of it is stored", async () => {
    const { home, flow } = await openScene();
    await left({ home });
    const begun = Promise.withResolvers<void>();
    const hanging: Agent = {
      name: "hanging",
      canTitle: true,
      async *run(turn, signal) {
        yield* saving(add("half of it")).agent.run(turn, signal);
        begun.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    };
    const looking = flusher(flow, () => hanging);
    looking.trigger();
    await begun.promise;
    await looking.close();
    expect(await readEntries(home.store)).toEqual([]);
    await home.store.runners.retire({ runner: flow.runner });
    const { id: runner } = await again(home);
    const { agent, turns } = saving(add("all of it"));
    await flushMemory({ ...flow, runner }, agent, never);
    expect([turns.length, await readEntries(home.store)]).toEqual([1, ["all of it"]]);
  });
});

describe("the flusher", () => {
  it("runs again when a session is left meanwhile", async () => {
    const { home, flow } = await openScene();
    const { agent } = saving(add("likes tea"));
    let isFirst = true;
    const both = Promise.withResolvers<void>();
    const looking = flusher(flow, () => ({
      ...agent,
      async *run(turn, signal) {
        if (isFirst) {
          isFirst = false;
          await left({ home }, FOUR, { owner: "p_bob" });
          looking.trigger();
        } else both.resolve();
        yield* agent.run(turn, signal);
      },
    }));
    await left({ home });
    looking.trigger();
    await both.promise;
    await expect.poll(() => readEntries(home.store, "p_bob")).toEqual(["likes tea"]);
    await looking.close();
  });

  it("is triggered as soon as a session is left, once for the same messages", async () => {
    const { home } = await openScene();
    const { sessions, store, clock } = home;
    const { id: session } = await sessions.create({ person: "p_ada" }, {});
    const messages = FOUR.map((line) => ({ role: "user" as const, parts: [textPart(line)] }));
    throwIfRefused(await store.messages.append({ asker: all, session, messages, now: clock.now() }));
    const calls: string[] = [];
    const telling = {
      store,
      clock,
      hooks: { emit: async (event: string) => void calls.push(event) },
      flush: () => void calls.push("flush"),
    };
    await scheduleFlushWithHook(telling, { session, platform: "telegram" });
    await scheduleFlushWithHook(telling, { session, platform: "telegram" });
    expect(calls).toEqual(["flush", "session:flush"]);
  });
});

describe("a running gateway", () => {
  /** Echoes the messages of people, and saves in a flush which session it got. */
  const remembers: Agent = {
    name: "remembers",
    canTitle: true,
    async *run(turn, signal) {
      const { session, tools = [], history } = turn;
      const isFlush = lastWords(turn).includes("about to be put away");
      for (const tool of isFlush ? tools : []) await tool.run(add(session), { id: "1", signal });
      yield { type: "text", text: isFlush ? "" : `You said: ${getText(history.at(-1) ?? { parts: [] })}` };
    },
  };

  it("flushes a session at /new, at /resume, and after a day without messages", async () => {
    const { home, chat, pass, untilTold } = await gatewayRoom({ agent: remembers });
    const here = chat(telegram);
    let count = 0;
    const say = async (...lines: readonly string[]): Promise<void> => {
      for (const line of lines) {
        await here.say(line);
        count += 1;
        await here.texts(count);
      }
    };
    await say("one", "two", "/title First", "/new", "three", "four", "/resume First");
    await untilTold("session:end", 2);
    const owner = (await home.store.access.getAccount({ platform: "telegram", userId: "42" }))?.person ?? "";
    const entries = async () => (await home.store.memory.getMemory({ owner })).entries;
    await expect.poll(async () => (await entries()).length).toBe(2);
    await say("five");
    await pass(2 * DAY);
    await say("six");
    const [first, second] = (await untilTold("session:start", 3)).map(({ session }) => session);
    expect(await entries()).toEqual([first, second]);
    const flushed = (await untilTold("session:flush", 3)).map(({ session }) => session);
    expect(flushed).toEqual([first, second, first]);
  });

  it("recovers at its start the flushes of a crashed gateway", async () => {
    const { home } = await openScene();
    const session = await left({ home });
    const dead = { ...localRunner(), pid: 4_194_999 };
    await home.store.runners.recordHeartbeat({ runner: dead, now: home.clock.now() });
    await home.store.memory.claimFlush({ runner: dead.id, now: home.clock.now() });
    await gatewayRoom({ agent: remembers, home });
    await expect.poll(() => readEntries(home.store)).toEqual([session]);
  });
});

async function again({ store, clock }: Home) {
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  return runner;
}
