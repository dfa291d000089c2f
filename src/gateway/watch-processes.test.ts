import { describe, expect, it } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { type RunOptions, runIn } from "../../test/support/running.ts";
import { deadRunner, heldAgent } from "../../test/support/talking.ts";
import { HOUR, MINUTE, openHome } from "../../test/support/test-home.ts";
import { type Messenger, messenger, type WatcherOptions, watcher } from "../../test/support/watch-room.ts";
import { echo } from "../agents/echo.ts";
import { getText, textPart } from "../core/message.ts";
import { KEPT_OUTPUT, type WatchMode } from "../core/process.ts";
import type { Source } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";
import { buildRouting, DEFAULT_RESET } from "../sessions/routing.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2", userName: "Bob" };
const topic: Source = { ...ada, chatType: "group", chatId: "-100", threadId: "17" };
const everyone = { everyone: true } as const;

/** A chat with a running process, and the part of a gateway that reports on it. */
async function startProcess(options: RunOptions = {}, source: Source = ada, agent: Agent = echo) {
  const home = await openHome();
  const chat = messenger();
  const own = await watcher(home, chat, agent);
  const running = await runIn(home, source, options);
  return { home, chat, ...own, running, pass: (ms: number) => home.clock.pass(ms) };
}

const listTexts = ({ shown }: Messenger): string[] => shown.map(({ words }) => words.at(-1) ?? "");

describe("a chat that started a process", () => {
  it.each([
    ["all", ["runs for 1 min", "ended with code 0", "ended with code 1"]],
    ["result", ["ended with code 0", "ended with code 1"]],
    ["error", ["ended with code 1"]],
    ["off", []],
  ] satisfies [WatchMode, string[]][])("gets these reports in the mode %s: %j", async (mode, expected) => {
    const { home, chat, look, running, pass } = await startProcess({ mode, everyMs: MINUTE });
    const second = await runIn(home, ada, { mode });
    await running.print("hello\n");
    await look();
    pass(MINUTE);
    await look();
    const before = listTexts(chat);
    await running.end({ code: 0 });
    await look();
    await second.end({ code: 1 });
    await look();
    await look();
    // By now the report on the running process shows its end.
    const told = [...before, ...listTexts(chat).slice(before.length)];
    expect(told.map((words) => words.split("\n")[0]?.replace(/^.*\) | after.*|\.$/g, ""))).toEqual(expected);
    expect(await home.store.processes.listWatchedProcesses()).toEqual([]);
  });

  it("gets one silent message, which is edited while the process runs, and another at its end with the last 1000 characters", async () => {
    const { chat, look, running, pass } = await startProcess({ everyMs: MINUTE });
    for (const word of ["one", "two", "three"]) {
      await running.print(`\u001b[31m${word}\u001b[0m\r\n`);
      pass(MINUTE);
      await look();
      await look();
    }
    expect(chat.shown).toHaveLength(1);
    expect(chat.shown[0]).toMatchObject({ quiet: true, target: ada });
    expect(chat.shown[0]?.words.map((words) => words.split("\n").slice(3, -1))).toEqual([
      ["one"],
      ["one", "two"],
      ["one", "two", "three"],
    ]);
    pass(MINUTE);
    await look();
    expect(chat.shown[0]?.words).toHaveLength(3); // it has printed nothing since
    await running.print("z".repeat(2000));
    await running.end({ code: 3 });
    await look();
    const name = `\`npm test\` (${running.id})`;
    expect(listTexts(chat)).toEqual([
      `${name} ended with code 3 after 4 min.`,
      `${name} ended with code 3 after 4 min.\n\n\`\`\`\n${"z".repeat(1000)}\n\`\`\``,
    ]);
    expect(chat.shown[1]?.quiet).toBe(false);
  });

  it("gets a new message for each report if messages cannot be edited", async () => {
    const home = await openHome();
    const chat = messenger({ edits: false });
    const { look } = await watcher(home, chat, echo);
    const running = await runIn(home, ada, { everyMs: MINUTE });
    for (const word of ["one", "two"]) {
      await running.print(`${word}\n`);
      home.clock.pass(MINUTE);
      await look();
    }
    await running.end();
    await look();
    expect(listTexts(chat).map((words) => words.split("\n")[0]?.slice(words.indexOf(")") + 2))).toEqual([
      "runs for 1 min.",
      "runs for 2 min.",
      "ended with code 0 after 2 min.",
    ]);
  });

  it("gets a new message when the old one was deleted, and a later edit when the messenger asks to wait", async () => {
    const { chat, look, running, pass } = await startProcess({ everyMs: MINUTE });
    const printAndLook = async (): Promise<void> => {
      await running.print("more\n");
      pass(MINUTE);
      await look();
    };
    await printAndLook();
    chat.answer({ state: "gone" });
    await printAndLook();
    expect(chat.shown.map(({ words }) => words.length)).toEqual([1, 1]);
    chat.answer({ state: "not_sent", reason: "Too fast.", retryAfterMs: 10_000 });
    await printAndLook();
    await look();
    expect(chat.shown.map(({ words }) => words.length)).toEqual([1, 1]);
    pass(10_000);
    await look();
    expect(chat.shown.map(({ words }) => words.length)).toEqual([1, 2]);
    // The report of the end waits for the last edit, for a limited time.
    chat.answer({ state: "not_sent", reason: "Down.", retryAfterMs: HOUR });
    await running.end();
    await look();
    expect(chat.shown).toHaveLength(2);
    pass(MINUTE);
    await look();
    expect(await chat.texts(3)).toHaveLength(3);
  });

  it("gets new output also when the process printed more than is kept", async () => {
    const { chat, look, running, pass } = await startProcess({ everyMs: MINUTE });
    for (const letter of ["a", "b"]) {
      await running.print(letter.repeat(KEPT_OUTPUT));
      pass(MINUTE);
      await look();
    }
    await running.print("!");
    pass(MINUTE);
    await look();
    expect(chat.shown[0]?.words.map((words) => words.at(-5))).toEqual(["a", "b", "!"]);
  });

  it("gets the first matching line at once, and the following ones together", async () => {
    const { chat, look, running, pass } = await startProcess({ mode: "result", patterns: ["ready"] });
    await running.print("ready 1\nnoise\n", "ready 1");
    await look();
    for (const line of ["ready 2", "\u001b[1mready 3"]) {
      await running.print(`${line}\n`, line);
      await look();
    }
    expect(chat.shown).toHaveLength(1);
    pass(MINUTE);
    await look();
    expect(listTexts(chat).map((words) => words.split("```")[1])).toEqual([
      "\nready 1\n",
      "\nready 2\nready 3\n",
    ]);
  });
});

describe("the end of a process", () => {
  it("is reported once when two gateways poll at the same time", async () => {
    const { home, chat, running, look } = await startProcess({ mode: "result" });
    const other = await home.again();
    const second = await watcher(other, chat, echo);
    await running.end();
    await Promise.all([look(), second.look(), look(), second.look()]);
    expect(chat.shown).toHaveLength(1);
  });

  it.each([
    ["before the report is stored", false],
    ["right after the report is stored", true],
  ])("is reported once when a gateway crashes %s", async (_, isStored) => {
    const home = await openHome();
    const chat = messenger();
    const running = await runIn(home, ada, { mode: "result" });
    const crashing: WatcherOptions = {
      runner: deadRunner(),
      store: {
        ...home.store,
        outbox: {
          ...home.store.outbox,
          async enqueue(input) {
            if (isStored) await home.store.outbox.enqueue(input);
            throw new Error("the process was killed");
          },
        },
      },
    };
    await running.end();
    const crashed = await watcher(home, chat, echo, crashing);
    await crashed.look();
    expect(chat.shown).toEqual([]);
    const next = await watcher(home, chat, echo);
    await next.recover();
    await next.look();
    await next.look();
    expect(listTexts(chat)).toEqual([expect.stringContaining("ended with code 0")]);
  });

  it("is shown in both messages when the gateway crashes between them", async () => {
    const { home, chat, look, running, pass } = await startProcess({ everyMs: MINUTE });
    await running.print("hello");
    pass(MINUTE);
    await look();
    await running.end();
    const store = {
      ...home.store,
      outbox: { ...home.store.outbox, enqueue: () => Promise.reject(new Error("the process was killed")) },
    };
    const crashed = await watcher(home, chat, echo, { runner: deadRunner(), store });
    await crashed.look();
    await look();
    expect(chat.shown.map(({ words }) => words.at(-1)?.includes("ended with code 0"))).toEqual([true, true]);
  });
});

describe("a report on a process", () => {
  it("goes only to the thread in which the process was started, also after /new and /resume", async () => {
    const { home, chat, look, running, pass } = await startProcess({ everyMs: MINUTE }, topic);
    const theirs = await runIn(home, bob, { everyMs: MINUTE, command: "make" });
    const { number } = running.opened.conversation;
    const next = await home.sessions.reset(everyone, number);
    await running.print("hello");
    await theirs.print("hello");
    pass(MINUTE);
    await look();
    await home.sessions.switchTo(everyone, number, running.opened.session.id);
    await home.sessions.switchTo(everyone, number, next.session.id);
    await running.end();
    await theirs.end();
    await look();
    const byChat = chat.shown.map(({ target, words }) => [
      target,
      words.every((one) => one.includes("make")),
    ]);
    expect(byChat).toHaveLength(4);
    for (const [target, isTheirs] of byChat) expect(target).toEqual(isTheirs ? bob : topic);
  });

  it("is not sent by the gateway for a process of a terminal", async () => {
    const { home, chat, look } = await startProcess({ mode: "off" });
    const local = await runIn(home, { platform: "local", chatId: "cli", chatType: "dm" });
    await local.end();
    await look();
    expect(chat.shown).toEqual([]);
    expect((await local.now()).reported.end).toBe(false);
  });

  it("does not count as activity of a person", async () => {
    const { home, look, running, pass } = await startProcess({ everyMs: MINUTE, wakes: true }, ada, echo);
    const [before] = await home.store.conversations.findConversations({ asker: everyone, source: ada });
    pass(HOUR);
    await running.print("hello");
    await look();
    await running.end();
    await look();
    const change = async (): Promise<number> =>
      (await home.store.messages.listMessages({ asker: everyone, session: running.opened.session.id }))
        ?.length ?? 0;
    while ((await change()) < 2) await new Promise(setImmediate);
    const [after] = await home.store.conversations.findConversations({ asker: everyone, source: ada });
    expect(after?.activeAt).toBe(before?.activeAt);
  });
});

describe("an agent that a process wakes", () => {
  const wakes = { wakes: true, mode: "all" } as const;

  it("answers once, in the session that started the process, and the chat gets only the answer", async () => {
    const agent = heldAgent();
    const { chat, look, running, home } = await startProcess(wakes, topic, agent);
    const second = await watcher(await home.again(), chat, agent);
    await running.print("42 passed\n");
    await running.end();
    await Promise.all([look(), second.look()]);
    const { turn, ...answer } = await agent.asked();
    expect(turn.session).toBe(running.opened.session.id);
    expect(turn.history.map(getText)).toEqual([
      `[The background process ${running.id} (\`npm test\`) ended with code 0 after 0 s. Its last output:\n\`\`\`\n42 passed\n\`\`\`\n]`,
    ]);
    await answer.say("All passed.");
    answer.end();
    expect(await chat.texts(1)).toEqual(["All passed."]);
    expect(chat.shown[0]?.target).toEqual(topic);
    await Promise.all([look(), second.look()]);
    expect(chat.shown).toHaveLength(1);
  });

  it("does not answer when the chat has switched to another session: the chat gets a report with /resume", async () => {
    const agent = heldAgent();
    const { chat, look, running, home } = await startProcess(wakes, ada, agent);
    await home.sessions.reset(everyone, running.opened.conversation.number);
    await running.end();
    await look();
    await look();
    const { handle } = running.opened.session;
    expect(listTexts(chat)).toEqual([
      expect.stringMatching(new RegExp(`ended with code 0.*/resume ${handle}$`, "s")),
    ]);
    expect(await home.store.turns.listClaimable({ now: home.clock.now() })).toEqual([]);
    expect((await running.now()).reported.end).toBe(true);
  });

  it("finishes the answer in progress first", async () => {
    const agent = heldAgent();
    const { chat, look, running, home, flow } = await startProcess(wakes, ada, agent);
    const { clock, store } = home;
    const settings = { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock };
    const accepted = await store.inbox.accept({
      ...buildRouting(ada, settings),
      messageId: "1",
      message: { role: "user", parts: [textPart("a story")] },
      claim: { runner: flow.runner, take: "one" },
    });
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
      throw new Error("no turn has started");
    const told = flow.turns.run(accepted.turn);
    const first = await agent.asked();
    await first.say("Once ");
    await running.end();
    await look();
    expect(first.signal.aborted).toBe(false);
    await first.say("upon a time");
    first.end();
    await told;
    const next = await agent.asked();
    expect(next.turn.history.map(getText).slice(0, 2)).toEqual(["a story", "Once upon a time"]);
    expect(getText(next.turn.history[2] ?? { parts: [] })).toContain(running.id);
    await next.say("It is done.");
    next.end();
    expect(await chat.texts(2)).toEqual(["Once upon a time", "It is done."]);
  });

  it("is woken once when the gateway crashes: the next gateway recovers the turn", async () => {
    const agent = heldAgent();
    const home = await openHome();
    const chat = messenger();
    const running = await runIn(home, ada, wakes);
    await running.end();
    const runner = deadRunner();
    await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
    const message = { role: "user", parts: [textPart("It has ended.")] } as const;
    const claim = { runner: runner.id, take: "one" } as const;
    const woken = await home.store.processes.wakeAgent({
      process: running.id,
      message,
      claim,
      now: home.clock.now(),
    });
    expect(woken.state).toBe("woken");
    const next = await watcher(home, chat, agent);
    await next.look();
    await next.recover();
    const answer = await agent.asked();
    expect(answer.turn.history.map(getText)).toEqual(["It has ended."]);
    await answer.say("Good.");
    answer.end();
    expect(await chat.texts(1)).toEqual(["Good."]);
  });
});

describe("a running gateway", () => {
  it("reports processes that ended before its start, and those that end later", async () => {
    const home = await openHome();
    const before = await runIn(home, ada, { mode: "result", command: "first" });
    await before.end();
    const { chat } = await gatewayRoom({ agent: echo, home });
    expect(await chat(ada).texts(1)).toEqual([expect.stringContaining("`first`")]);
    const after = await runIn(home, ada, { mode: "result", command: "second" });
    await after.end();
    expect(await chat(ada).texts(2)).toEqual([
      expect.stringContaining("`first`"),
      expect.stringContaining("`second`"),
    ]);
  });
});
