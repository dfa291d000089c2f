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

/** A chat in which a program runs, and the part of a gateway that tells of it. */
async function desk(options: RunOptions = {}, source: Source = ada, agent: Agent = echo) {
  const home = await openHome();
  const chat = messenger();
  const own = await watcher(home, chat, agent);
  const running = await runIn(home, source, options);
  return { home, chat, ...own, running, pass: (ms: number) => home.clock.pass(ms) };
}

const wordsIn = ({ shown }: Messenger): string[] => shown.map(({ words }) => words.at(-1) ?? "");

describe("a chat that started a program", () => {
  it.each([
    ["all", ["runs for 1 min", "ended with code 0", "ended with code 1"]],
    ["result", ["ended with code 0", "ended with code 1"]],
    ["error", ["ended with code 1"]],
    ["off", []],
  ] satisfies [WatchMode, string[]][])("is told with %s: %j", async (mode, expected) => {
    const { home, chat, look, running, pass } = await desk({ mode, everyMs: MINUTE });
    const second = await runIn(home, ada, { mode });
    await running.print("hello\n");
    await look();
    pass(MINUTE);
    await look();
    const before = wordsIn(chat);
    await running.end({ code: 0 });
    await look();
    await second.end({ code: 1 });
    await look();
    await look();
    // What was told while it ran has become its last line by then.
    const told = [...before, ...wordsIn(chat).slice(before.length)];
    expect(told.map((words) => words.split("\n")[0]?.replace(/^.*\) | after.*|\.$/g, ""))).toEqual(expected);
    expect(await home.store.processes.listWatchedProcesses()).toEqual([]);
  });

  it("has one quiet message while it runs, which is edited and gets its last line; its end is another, with the last 1000 characters", async () => {
    const { chat, look, running, pass } = await desk({ everyMs: MINUTE });
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
    expect(wordsIn(chat)).toEqual([
      `${name} ended with code 3 after 4 min.`,
      `${name} ended with code 3 after 4 min.\n\n\`\`\`\n${"z".repeat(1000)}\n\`\`\``,
    ]);
    expect(chat.shown[1]?.quiet).toBe(false);
  });

  it("gets a message each time where messages cannot be edited", async () => {
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
    expect(wordsIn(chat).map((words) => words.split("\n")[0]?.slice(words.indexOf(")") + 2))).toEqual([
      "runs for 1 min.",
      "runs for 2 min.",
      "ended with code 0 after 2 min.",
    ]);
  });

  it("gets a new one when the old was deleted, and the same later when the messenger asked to wait", async () => {
    const { chat, look, running, pass } = await desk({ everyMs: MINUTE });
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
    // The end waits a little for its last line, and not for ever.
    chat.answer({ state: "not_sent", reason: "Down.", retryAfterMs: HOUR });
    await running.end();
    await look();
    expect(chat.shown).toHaveLength(2);
    pass(MINUTE);
    await look();
    expect(await chat.texts(3)).toHaveLength(3);
  });

  it("is told of more output also when more was printed than is kept", async () => {
    const { chat, look, running, pass } = await desk({ everyMs: MINUTE });
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

  it("is told at once of lines that were waited for, and of those that follow together", async () => {
    const { chat, look, running, pass } = await desk({ mode: "result", patterns: ["ready"] });
    await running.print("ready 1\nnoise\n", "ready 1");
    await look();
    for (const line of ["ready 2", "\u001b[1mready 3"]) {
      await running.print(`${line}\n`, line);
      await look();
    }
    expect(chat.shown).toHaveLength(1);
    pass(MINUTE);
    await look();
    expect(wordsIn(chat).map((words) => words.split("```")[1])).toEqual([
      "\nready 1\n",
      "\nready 2\nready 3\n",
    ]);
  });
});

describe("exactly once", () => {
  it("is told when two gateways look at the same time", async () => {
    const { home, chat, running, look } = await desk({ mode: "result" });
    const other = await home.again();
    const second = await watcher(other, chat, echo);
    await running.end();
    await Promise.all([look(), second.look(), look(), second.look()]);
    expect(chat.shown).toHaveLength(1);
  });

  it.each([
    ["before it is stored", false],
    ["right after", true],
  ])("is told when a gateway falls %s", async (_, isStored) => {
    const home = await openHome();
    const chat = messenger();
    const running = await runIn(home, ada, { mode: "result" });
    const falling: WatcherOptions = {
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
    const fallen = await watcher(home, chat, echo, falling);
    await fallen.look();
    expect(chat.shown).toEqual([]);
    const next = await watcher(home, chat, echo);
    await next.recover();
    await next.look();
    await next.look();
    expect(wordsIn(chat)).toEqual([expect.stringContaining("ended with code 0")]);
  });

  it("gets its last line when the gateway falls between that and the end's own message", async () => {
    const { home, chat, look, running, pass } = await desk({ everyMs: MINUTE });
    await running.print("hello");
    pass(MINUTE);
    await look();
    await running.end();
    const store = {
      ...home.store,
      outbox: { ...home.store.outbox, enqueue: () => Promise.reject(new Error("the process was killed")) },
    };
    const fallen = await watcher(home, chat, echo, { runner: deadRunner(), store });
    await fallen.look();
    await look();
    expect(chat.shown.map(({ words }) => words.at(-1)?.includes("ended with code 0"))).toEqual([true, true]);
  });
});

describe("where it is told", () => {
  it("is the thread in which it was started, after /new and /resume too, and nobody else hears of it", async () => {
    const { home, chat, look, running, pass } = await desk({ everyMs: MINUTE }, topic);
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

  it("is nowhere here for what was started in a terminal", async () => {
    const { home, chat, look } = await desk({ mode: "off" });
    const local = await runIn(home, { platform: "local", chatId: "cli", chatType: "dm" });
    await local.end();
    await look();
    expect(chat.shown).toEqual([]);
    expect((await local.now()).reported.end).toBe(false);
  });

  it("leaves no trace of somebody having spoken", async () => {
    const { home, look, running, pass } = await desk({ everyMs: MINUTE, wakes: true }, ada, echo);
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

describe("an agent that is to be woken", () => {
  const wakes = { wakes: true, mode: "all" } as const;

  it("answers once, in the session that started it, and that is all the chat is told", async () => {
    const agent = heldAgent();
    const { chat, look, running, home } = await desk(wakes, topic, agent);
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

  it("is not, when the chat has gone to another session: the chat is told, with the way back", async () => {
    const agent = heldAgent();
    const { chat, look, running, home } = await desk(wakes, ada, agent);
    await home.sessions.reset(everyone, running.opened.conversation.number);
    await running.end();
    await look();
    await look();
    const { handle } = running.opened.session;
    expect(wordsIn(chat)).toEqual([
      expect.stringMatching(new RegExp(`ended with code 0.*/resume ${handle}$`, "s")),
    ]);
    expect(await home.store.turns.listClaimable({ now: home.clock.now() })).toEqual([]);
    expect((await running.now()).reported.end).toBe(true);
  });

  it("comes to the end of what it is saying first", async () => {
    const agent = heldAgent();
    const { chat, look, running, home, flow } = await desk(wakes, ada, agent);
    const { clock, store } = home;
    const settings = { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock };
    const accepted = await store.inbox.accept({
      ...buildRouting(ada, settings),
      messageId: "1",
      message: { role: "user", parts: [textPart("a story")] },
      claim: { runner: flow.runner, take: "one" },
    });
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
      throw new Error("no turn has begun");
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

  it("is told of nothing twice after a crash of the gateway that has woken it: the next takes the turn up", async () => {
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
  it("tells what ended while nobody looked, and what ends from then on", async () => {
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
