import { describe, expect, it } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { type HeldAnswer, heldAgent, rowsIn } from "../../test/support/talking.ts";
import { DAY, openHome } from "../../test/support/test-home.ts";
import { wrapStore } from "../../test/support/wrap-store.ts";
import { echo } from "../agents/echo.ts";
import { script } from "../agents/script.ts";
import type { Buttons } from "../core/delivery.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import { getText, textPart } from "../core/message.ts";
import { DEFAULT_RESET_POLICY } from "../core/reset-policy.ts";
import type { Source } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";
import { buildRouting, DEFAULT_RESET } from "../sessions/routing.ts";
import { localRunner } from "../system/local-runner.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2", userName: "Bob" };
const group: Source = { ...ada, chatType: "group", chatId: "-100" };

/** A chat in which an answer is in progress. */
async function openBusyChat(settings: Partial<GatewaySettings> = {}, source: Source = ada) {
  const agent = heldAgent();
  const room = await gatewayRoom({ agent, settings });
  const chat = room.chat(source);
  await chat.say("first");
  const first = await agent.asked();
  await first.say("Once ");
  return { room, agent, chat, first };
}

const readHistory = ({ turn }: HeldAnswer): string[] => turn.history.map(getText);

async function answer(held: HeldAnswer, words: string): Promise<void> {
  await held.say(words);
  held.end();
}

describe("two chats at once", () => {
  it("each get their own answer, and a message in one does not interrupt the other", async () => {
    const { room, agent, chat, first } = await openBusyChat();
    const other = room.chat(bob);
    await other.say("hello");
    const theirs = await agent.asked();
    await chat.say("wait");
    const second = await agent.asked();
    expect([first.signal.aborted, theirs.signal.aborted]).toEqual([true, false]);
    expect([readHistory(second).at(-1), readHistory(theirs)]).toEqual(["wait", ["hello"]]);
    await answer(theirs, "for Bob");
    await answer(second, "for Ada");
    expect([await chat.texts(1), await other.texts(1)]).toEqual([["for Ada"], ["for Bob"]]);
  });

  it("can be two topics of one group: each answer goes to its topic, as a reply to its message", async () => {
    const { room, agent, chat, first } = await openBusyChat({}, { ...group, threadId: "17" });
    const other = room.chat({ ...group, threadId: "18" });
    await other.say("in the other topic");
    const second = await agent.asked();
    expect(first.signal.aborted).toBe(false);
    await answer(first, "upon");
    await answer(second, "there");
    expect(await chat.sent(1)).toMatchObject([{ target: { chatId: "-100", threadId: "17" }, replyTo: "1" }]);
    expect(await other.sent(1)).toMatchObject([{ target: { chatId: "-100", threadId: "18" }, replyTo: "2" }]);
  });
});

describe("a message during an answer", () => {
  it("interrupts it: the text so far is kept, and the agent answers the new message", async () => {
    const { agent, chat, first, room } = await openBusyChat();
    await chat.say("second");
    const second = await agent.asked();
    expect(first.signal.aborted).toBe(true);
    expect(readHistory(second)).toEqual(["first", "Once ", "second"]);
    await answer(second, "two");
    expect(await chat.texts(1)).toEqual(["two"]);
    const [, cut] = (await room.home.sessions.history({ everyone: true }, second.turn.session)) ?? [];
    expect(cut?.origin?.interrupted).toBe(true);
  });

  it("is pending in the mode queue: every message gets its answer, in order", async () => {
    const { agent, chat, first } = await openBusyChat({ busy: "queue" });
    await Promise.all([chat.say("second"), chat.say("third")]);
    expect(first.signal.aborted).toBe(false);
    await answer(first, "upon a time");
    const second = await agent.asked();
    expect(readHistory(second)).toEqual(["first", "Once upon a time", "second"]);
    await answer(second, "two");
    await answer(await agent.asked(), "three");
    expect(await chat.texts(3)).toEqual(["Once upon a time", "two", "three"]);
  });

  it("is collected with others into one turn in the mode collect, and none replaces another", async () => {
    const { agent, chat, first } = await openBusyChat({ busy: "collect" });
    for (const words of ["second", "third", "fourth"]) await chat.say(words);
    await answer(first, "upon a time");
    const next = await agent.asked();
    expect(readHistory(next)).toEqual(["first", "Once upon a time", "second", "third", "fourth"]);
    await answer(next, "all");
    expect(await chat.texts(2)).toEqual(["Once upon a time", "all"]);
  });

  it("with an image interrupts nothing, and the next turn gets all images", async () => {
    const { agent, chat, first } = await openBusyChat();
    await chat.show("one");
    await chat.show("two");
    expect(first.signal.aborted).toBe(false);
    await answer(first, "upon a time");
    const { turn } = await agent.asked();
    const pictures = turn.history.flatMap(({ parts }) => parts.filter((part) => part.type === "image"));
    const bytes = await Promise.all(pictures.map(({ blob }) => turn.blob(blob)));
    expect(bytes.map((given) => new TextDecoder().decode(given))).toEqual(["one", "two"]);
  });

  it("starts no second turn, however soon it arrives", async () => {
    const agent = heldAgent();
    const { chat, home } = await gatewayRoom({ agent, settings: { busy: "queue" } });
    const words = ["one", "two", "three", "four"];
    await Promise.all(words.map((each) => chat(ada).say(each)));
    for (const [at, each] of words.entries()) {
      const held = await agent.asked();
      expect(readHistory(held).filter((_, index) => index % 2 === 0)).toEqual(words.slice(0, at + 1));
      await answer(held, `to ${each}`);
    }
    expect(await chat(ada).texts(4)).toEqual(words.map((each) => `to ${each}`));
    expect((await home.sessions.list({ everyone: true })).items).toHaveLength(1);
  });
});

describe("a command during an answer", () => {
  it("does not interrupt it if it only reads", async () => {
    const { chat, first } = await openBusyChat();
    await chat.say("/status");
    expect((await chat.texts(1))[0]).toContain("agent held, answering");
    for (const line of ["/usage", "/where", "/help", "/history"]) await chat.say(line);
    await chat.texts(5);
    expect(first.signal.aborted).toBe(false);
    await answer(first, "upon a time");
    expect((await chat.texts(6)).at(-1)).toBe("Once upon a time");
  });

  it("/queue lets it finish, whatever the busy mode", async () => {
    const { agent, chat, first } = await openBusyChat({ busy: "interrupt" });
    await chat.say("/queue and then?");
    expect(await chat.texts(1)).toEqual(["Waits for its turn: “and then?”"]);
    expect(first.signal.aborted).toBe(false);
    await answer(first, "upon a time");
    await answer(await agent.asked(), "The end.");
    expect((await chat.texts(3)).slice(1)).toEqual(["Once upon a time", "The end."]);
  });

  it("/stop ends it, also before its first text, and never becomes a message to the agent", async () => {
    const agent = heldAgent();
    const { chat: at } = await gatewayRoom({ agent });
    const chat = at(ada);
    await Promise.all([chat.say("long story"), chat.say("/stop")]);
    expect(await chat.texts(1)).toEqual(["Stopped."]);
    expect((await agent.asked()).signal.aborted).toBe(true);
    await chat.say("hello");
    const next = await agent.asked();
    expect(readHistory(next)).toEqual(["long story", "hello"]);
  });

  it("/new ends it, and the next message belongs to the new session", async () => {
    const { agent, chat, first } = await openBusyChat();
    await Promise.all([chat.say("/new"), chat.say("afresh")]);
    const next = await agent.asked();
    expect(first.signal.aborted).toBe(true);
    expect(readHistory(next)).toEqual(["afresh"]);
    expect(next.turn.session).not.toBe(first.turn.session);
    await answer(next, "hello");
    const [told, ...more] = await chat.texts(2);
    expect(told).toMatch(/^New session `\w+`.*The answer that was being written has been stopped/s);
    expect(more).toEqual(["hello"]);
  });
});

describe("the first message of a home", () => {
  it("has a note for the agent, and no later message has one: in this session, after /new, or from another person", async () => {
    const agent = heldAgent();
    const { chat: at } = await gatewayRoom({ agent });
    const noteWith = async (source: Source, words: string): Promise<string | undefined> => {
      await at(source).say(words);
      const held = await agent.asked();
      await answer(held, "hello");
      return held.turn.note;
    };
    expect(await noteWith(ada, "first")).toMatch(/introducing yourself/);
    expect(await noteWith(ada, "second")).toBeUndefined();
    await at(ada).say("/new");
    expect(await noteWith(ada, "third")).toBeUndefined();
    expect(await noteWith(bob, "fourth")).toBeUndefined();
  });
});

describe("a topic of a group", () => {
  it("is the only topic that a command in it changes, and the reply goes there", async () => {
    const agent = heldAgent();
    const { chat: at } = await gatewayRoom({ agent });
    const [one, two] = [at({ ...group, threadId: "17" }), at({ ...group, threadId: "18" })];
    for (const chat of [one, two]) {
      await chat.say("before");
      await answer(await agent.asked(), "noted");
      await chat.texts(1);
    }
    await one.say("/new");
    expect(await one.sent(2)).toMatchObject([{}, { target: { chatId: "-100", threadId: "17" } }]);
    expect((await one.texts(2))[1]).toMatch(/^New session/);
    await one.say("after");
    const fresh = await agent.asked();
    expect(readHistory(fresh)).toEqual(["after"]);
    await answer(fresh, "hello");
    await two.say("after");
    const going = await agent.asked();
    expect(readHistory(going)).toEqual(["before", "noted", "after"]);
    await answer(going, "hello");
    expect([await one.texts(3), await two.texts(2)].map((texts) => texts.length)).toEqual([3, 2]);
  });
});

describe("after /resume", () => {
  it("every message belongs to that session and continues its history", async () => {
    const agent = heldAgent();
    const { chat: at } = await gatewayRoom({ agent });
    const chat = at(ada);
    await chat.say("about horses");
    const old = await agent.asked();
    await answer(old, "neigh");
    await chat.texts(1);
    await chat.say("/title Horses");
    await chat.say("/new");
    await chat.say("about ships");
    await agent.asked();
    await chat.say("/resume Horses"); // during the answer in the other session
    for (const [words, history] of [
      ["and now?", ["about horses", "neigh", "and now?"]],
      ["and then?", ["about horses", "neigh", "and now?", "still", "and then?"]],
    ] as const) {
      await chat.say(words);
      const held = await agent.asked();
      expect([held.turn.session, readHistory(held)]).toEqual([old.turn.session, history]);
      await answer(held, "still");
    }
  });
});

describe("a reset that is due", () => {
  it("is neither triggered nor delayed by commands, which act on the last messages", async () => {
    const { chat: at, home, pass } = await gatewayRoom({ agent: echo });
    const chat = at(ada);
    await chat.say("one");
    await chat.texts(1);
    await chat.say("two");
    await chat.texts(2);
    const before = await home.sessions.conversations({ everyone: true }, ada);
    await pass(2 * DAY);
    for (const line of ["/title Numbers", "/undo", "/redo", "/undo"]) await chat.say(line);
    expect((await chat.texts(6)).slice(2)).toEqual([
      expect.stringContaining("Numbers"),
      expect.stringMatching(/^Took back 2 messages: “two”/),
      expect.stringContaining("2 messages"),
      expect.stringMatching(/^Took back 2 messages: “two”/),
    ]);
    expect(await home.sessions.conversations({ everyone: true }, ada)).toEqual(before);
    await chat.say("three");
    expect((await chat.texts(8))[6]).toContain("/resume");
  });

  it("does not make /retry ask in an empty session", async () => {
    const agent = heldAgent();
    const { chat: at, pass } = await gatewayRoom({ agent });
    const chat = at(ada);
    for (const words of ["one", "two"]) {
      await chat.say(words);
      await answer(await agent.asked(), `to ${words}`);
    }
    await chat.texts(2);
    await pass(2 * DAY);
    await chat.say("/retry");
    expect(readHistory(await agent.asked())).toEqual(["one", "to one", "two"]);
  });
});

describe("hooks", () => {
  it("receive session:start with the first message: in a new chat, after /new and after a reset", async () => {
    const { chat: at, pass, told, untilTold } = await gatewayRoom({ agent: echo });
    const chat = at(ada);
    for (const [said, line] of ["one", "/new", "two", "more", "late"].entries()) {
      if (line === "late") await pass(2 * DAY);
      await chat.say(line);
      await chat.texts(said + 1);
    }
    const started = await untilTold("session:start", 3);
    expect(new Set(started.map(({ session }) => session)).size).toBe(3);
    expect(told.filter(([event]) => event === "session:start")).toHaveLength(3);
  });

  it("receive session:end once, after a command or a time without messages, and session:flush before it if the session is long enough", async () => {
    const { chat: at, pass, told, untilTold } = await gatewayRoom({ agent: echo });
    const chat = at(ada);
    let count = 0;
    const say = async (...lines: readonly string[]): Promise<void> => {
      for (const line of lines) {
        await chat.say(line);
        count += 1;
        await chat.texts(count);
      }
    };
    await say("one", "two", "/title First", "/new");
    await untilTold("session:end", 1);
    await say("three", "/resume First");
    await untilTold("session:end", 2);
    await pass(2 * DAY);
    await say("four");
    const [first, second, third] = (await untilTold("session:start", 3)).map(({ session }) => session);
    expect([first, second, third].every((id) => typeof id === "string")).toBe(true);
    const left = told.flatMap(([event, { session, reason }]) => {
      if (event === "session:flush") return [[event, session]];
      return event === "session:end" ? [[event, session, reason]] : [];
    });
    expect(left).toEqual([
      ["session:flush", first],
      ["session:end", first, "new"],
      ["session:end", second, "resume"],
      ["session:end", first, "idle"],
    ]);
  });

  it("receive the startup, each answer with its tools, and commands without pairing codes", async () => {
    const { chat, first, room } = await openBusyChat();
    const call = { id: "c1", name: "make", arguments: {} };
    first.send({ type: "tool_call", call }, { type: "tool_result", id: "c1", name: "make", parts: [] });
    await answer(first, "made");
    await chat.texts(1);
    for (const line of ["/title Horses", "/pair ABCD-EFGH"]) await chat.say(line);
    await room.untilTold("command:pair");
    const { session } = first.turn;
    const told = room.told.map(([event, { args, outcome, tool, session: of }]) => [
      event,
      args ?? outcome ?? tool ?? of,
    ]);
    // Hooks run concurrently, so the order of simultaneous events is not defined.
    expect(told.toSorted()).toEqual([
      ["agent:end", "done"],
      ["agent:start", session],
      ["agent:step", "make"],
      ["command:pair", undefined],
      ["command:title", "Horses"],
      ["gateway:startup", undefined],
      ["session:start", session],
    ]);
  });

  it("do not receive session:end again with the next message after an expiry", async () => {
    const { chat: at, home, pass, told, untilTold } = await gatewayRoom({ agent: echo });
    await at(ada).say("one");
    await at(ada).texts(1);
    await pass(2 * DAY);
    const now = home.clock.now();
    for (const { number: conversation } of await home.sessions.conversations({ everyone: true }, ada))
      await home.store.conversations.expireConversation({ conversation, reset: { idleBefore: now }, now });
    await at(ada).say("two");
    await untilTold("session:start", 2);
    expect(told.filter(([event]) => event === "session:end")).toEqual([]);
  });
});

describe("an approval request", () => {
  const request = { title: "run make", pattern: "make *" };

  /** An answer that requests an approval, and the decision. */
  async function startApproval() {
    const { chat, first, agent, room } = await openBusyChat({ busy: "queue" });
    const answered = Promise.withResolvers<string>();
    first.send({ type: "approval", request, answer: answered.resolve });
    const [question] = await chat.sent(1);
    const line = (label: string) =>
      question?.buttons?.flat().find((button) => button.label === label)?.line ?? "";
    return { chat, first, agent, room, question, line, answered: answered.promise };
  }

  it("shows the whole command, however long, and the buttons below it", async () => {
    const { chat, first } = await openBusyChat({ busy: "queue" });
    const detail = Array.from({ length: 400 }, (_, n) => `echo ${n} \`\`\` && make step-${n}`).join("\n");
    first.send({
      type: "approval",
      request: { title: "run it all", detail, pattern: "all" },
      answer: () => {},
    });
    const lastOf = (sent: readonly { buttons?: Buttons }[]) => sent.at(-1)?.buttons;
    let asked = await chat.sent(2);
    while (lastOf(asked) === undefined) asked = await chat.sent(asked.length + 1);
    const words = asked.map(getText).join("\n");
    for (let n = 0; n < 400; n += 1) expect(words).toContain(`echo ${n} \`\`\` && make step-${n}`);
    expect(
      lastOf(asked)
        ?.flat()
        .map(({ label }) => label),
    ).toEqual(["Once", "In this session", "Always", "No"]);
    first.end();
  });

  it("pauses the answer until a button is pressed; then the answer continues", async () => {
    const { chat, first, question, line, answered } = await startApproval();
    expect(question && getText(question)).toContain("run make");
    await chat.say("yes"); // is pending, and allows nothing
    await chat.press(line("Once"));
    expect(await answered).toBe("once");
    await answer(first, "It says: made.");
    expect((await chat.texts(3)).slice(1)).toEqual(["Allowed this once: run make", "Once It says: made."]);
  });

  it("allowed for a session is not repeated in that session, but in any other", async () => {
    const { chat, first, agent, line, answered } = await startApproval();
    await chat.press(line("In this session"));
    expect(await answered).toBe("session");
    const again = Promise.withResolvers<string>();
    first.send({ type: "approval", request, answer: again.resolve });
    expect(await again.promise).toBe("once");
    first.end();
    await chat.say("/new");
    await chat.say("elsewhere");
    const other = await agent.asked();
    other.send({ type: "approval", request, answer: () => {} });
    expect((await chat.texts(5)).at(-1)).toContain("**May I?** run make");
  });

  it("is denied when the answer is stopped, and cannot be allowed later", async () => {
    const { chat, line, answered } = await startApproval();
    await chat.say("/stop");
    expect(await answered).toBe("deny");
    await chat.press(line("Always"));
    expect((await chat.texts(3)).slice(1)).toEqual([
      "Stopped.",
      "The answer comes too late: it counted as no. Ask again for what is still wanted.",
    ]);
  });
});

describe("the notice of a new session", () => {
  it("appears once, before the answer, with the command /resume, unless the policy disables it", async () => {
    const quiet: Source = { ...ada, chatType: "channel", chatId: "-7" };
    const reset = {
      default: DEFAULT_RESET_POLICY,
      byType: { channel: { ...DEFAULT_RESET_POLICY, notify: false } },
      byPlatform: {},
    };
    const { chat: at, pass } = await gatewayRoom({ agent: echo, settings: { reset } });
    for (const source of [ada, quiet]) {
      await at(source).say("before");
      await at(source).texts(1);
    }
    await pass(2 * DAY);
    for (const source of [ada, quiet]) await at(source).say("after");
    const [, notice, first] = await at(ada).texts(3);
    expect(notice).toMatch(/\/resume \w+/);
    expect(first).toBe("You said: after");
    expect((await at(quiet).texts(2)).slice(1)).toEqual(["You said: after"]);
    await at(ada).say("more");
    expect((await at(ada).texts(4)).at(-1)).toContain("You said: more");
  });
});

describe("a stranger", () => {
  const closed = { access: { everywhere: {}, platforms: {} } };

  it("gets a code in a direct chat, at most once per interval, and their messages are not stored", async () => {
    const { chat: at, home } = await gatewayRoom({ agent: echo, settings: closed });
    const chat = at(bob);
    for (const words of ["let me in", "hello?", "/status", "hello??"]) await chat.say(words);
    expect(await chat.texts(1)).toEqual([expect.stringMatching(/`[A-Z2-9]{4}-[A-Z2-9]{4}`/)]);
    expect((await home.sessions.list({ everyone: true })).items).toEqual([]);
    expect(rowsIn(home.file).accounts).toEqual([]);
    expect(JSON.stringify(rowsIn(home.file))).not.toContain("hello?");
  });

  it("gets no reply in a group, nor where the settings ignore strangers", async () => {
    const ignoring = { access: { everywhere: { strangers: "ignore" as const }, platforms: {} } };
    const { chat: inOpen, home } = await gatewayRoom({ agent: echo, settings: closed });
    await inOpen(group).say("let me in");
    await inOpen(group).say("/help");
    const { chat: inQuiet, home: other } = await gatewayRoom({ agent: echo, settings: ignoring });
    for (const words of ["let me in", "please"]) await inQuiet(bob).say(words);
    for (const { file } of [home, other]) {
      // A message that gets a code as its reply has a row first.
      expect(rowsIn(file).inbox).toEqual([]);
      expect(rowsIn(file).deliveries).toEqual([]);
      expect(rowsIn(file).pairings).toEqual([]);
    }
  });
});

describe("/background", () => {
  it("is answered in its chat, below its request, while the chat's own answer continues", async () => {
    const { chat, agent, first, room } = await openBusyChat();
    const long = `sum up *all* of ${"a".repeat(60)}`;
    await chat.say(`/background ${long}`);
    const task = await agent.asked();
    expect([readHistory(task), first.signal.aborted]).toEqual([[long], false]);
    await answer(task, "Done.");
    const [, told] = await chat.texts(2);
    const [asked] = await chat.sent(2);
    expect(asked && getText(asked)).toMatch(/^Started in `\w+`/);
    expect(told).toBe(`**In the background:** sum up \\*all\\* of ${"a".repeat(44)}\n\nDone.`);
    await answer(first, "upon a time");
    expect((await chat.texts(3)).at(-1)).toBe("Once upon a time");
    const kinds = (await room.home.sessions.list({ everyone: true })).items.map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["background", "chat"]);
  });

  it("belongs to the person who asked, also where groups share a conversation", async () => {
    const agent = heldAgent();
    const { chat: at, home } = await gatewayRoom({ agent, settings: { scope: { groupsPerUser: false } } });
    await at(ada).say("/background look it up");
    await answer(await agent.asked(), "Done.");
    await at(ada).texts(2);
    const person = (await home.store.access.getAccount({ platform: "telegram", userId: "1" }))?.person ?? "";
    const { items } = await home.sessions.list({ person });
    expect(items.map(({ kind }) => kind)).toContain("background");
  });

  it("reports a failure in its chat", async () => {
    const { chat, agent } = await openBusyChat();
    await chat.say("/background the impossible");
    const task = await agent.asked();
    task.send({ type: "failed", reason: "No key is set." });
    task.end();
    expect((await chat.texts(2))[1]).toMatch(
      /^\*\*In the background:\*\* the impossible\n\n⚠ No key is set\.$/,
    );
  });
});

describe("an answer that fails", () => {
  it("is reported in the chat with its reason and the text so far, and the next message is answered", async () => {
    const { chat, agent, first } = await openBusyChat();
    first.break(new Error("the socket hung up"));
    expect(await chat.texts(1)).toEqual(["Once \n\n⚠ The agent failed: the socket hung up"]);
    await chat.say("again");
    await answer(await agent.asked(), "here");
    expect((await chat.texts(2))[1]).toBe("here");
  });
});

describe("the notice of a compression", () => {
  it("appears in the topic of the conversation, and in no other", async () => {
    const say = "x".repeat(4000);
    const agent = script({
      window: 4000,
      answers: [{ to: "^Write a summary", say: "They talked." }, { say }],
    });
    const { chat: at } = await gatewayRoom({ agent, settings: { compressAt: 0.85 } });
    const [here, there] = [at({ ...group, threadId: "17" }), at({ ...group, threadId: "18" })];
    await there.say("hello");
    await there.texts(1);
    let sent = 0;
    for (const words of ["one", "two", "three", "four", "five"]) {
      await here.say(words);
      sent += 1;
      await here.texts(sent);
    }
    const told = (await here.texts(6)).filter((words) => words !== say);
    expect(told).toEqual([expect.stringMatching(/summed up/i)]);
    expect(await there.texts(1)).toEqual([say]);
  });
});

describe("a conversation that several people share", () => {
  it("names the author of each message to the model, and stores the messages unchanged", async () => {
    const agent = heldAgent();
    const shared = { scope: { groupsPerUser: false }, busy: "queue" } as const;
    const { chat: at, home } = await gatewayRoom({ agent, settings: shared });
    await at(group).say("I am first");
    await answer(await agent.asked(), "Hello.");
    await at({ ...group, userId: "2", userName: "Bob [the builder]" }).say("and I second");
    const second = await agent.asked();
    expect(readHistory(second)).toEqual(["[Ada] I am first", "Hello.", "[Bob  the builder ] and I second"]);
    const said = (await home.sessions.history({ everyone: true }, second.turn.session)) ?? [];
    expect(said.map(getText)).toEqual(["I am first", "Hello.", "and I second"]);
    second.end();
  });

  it("names the author of each message in the request for a summary", async () => {
    const inner = script({
      window: 4000,
      answers: [{ to: "^Write a summary", say: "They talked." }, { say: "x".repeat(4000) }],
    });
    const summed: string[][] = [];
    const agent: Agent = {
      ...inner,
      run(turn, signal) {
        const words = turn.history.map(getText);
        if (words.at(-1)?.startsWith("Write a summary")) summed.push(words);
        return inner.run(turn, signal);
      },
    };
    const settings = { scope: { groupsPerUser: false }, compressAt: 0.85 };
    const { chat: at } = await gatewayRoom({ agent, settings });
    for (const [count, words] of ["one", "two", "three", "four", "five"].entries()) {
      const who = count % 2 === 0 ? group : { ...group, userId: "2", userName: "Bob" };
      await at(who).say(words);
      await at(group).texts(count + 1);
    }
    expect(summed[0]?.filter((words) => /^\[/.test(words)).slice(0, 2)).toEqual(["[Ada] one", "[Bob] two"]);
  });
});

describe("/retry in a group", () => {
  it("gets its answer as a reply to the command", async () => {
    const { chat: at } = await gatewayRoom({ agent: echo });
    await at(group).say("hello");
    await at(group).sent(1);
    await at(group).say("/retry");
    const sent = await at(group).sent(3);
    expect(sent.map(({ replyTo }) => replyTo)).toEqual(["1", "2", "2"]);
  });
});

describe("messages while another process answers in the session", () => {
  it("are answered once each, when that answer has ended", async () => {
    const { chat: at, home } = await gatewayRoom({ agent: echo, settings: { busy: "queue" } });
    const { store, clock } = home;
    const runner = { ...localRunner(), id: "an-editor" };
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    const accepted = await store.inbox.accept({
      ...buildRouting(ada, { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock }),
      messageId: "from the other",
      message: { role: "user", parts: [textPart("asked elsewhere")] },
      claim: { runner: runner.id, take: "one" },
    });
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
      throw new Error("the turn has not started");
    await at(ada).say("one");
    await at(ada).say("two");
    const { number: turn, fence } = accepted.turn;
    const answer = { role: "assistant", parts: [textPart("answered elsewhere")] } as const;
    await store.turns.finish({ turn, fence, outcome: "done", messages: [answer], now: clock.now() });
    expect((await at(ada).texts(2)).map((words) => words.slice(0, 13))).toEqual([
      "You said: one",
      "You said: two",
    ]);
    const history = (await home.sessions.history({ everyone: true }, accepted.session.id)) ?? [];
    expect(history.filter(({ role }) => role === "user").map(getText)).toEqual([
      "asked elsewhere",
      "one",
      "two",
    ]);
  });
});

describe("a command in a group", () => {
  it("gets a reply to its message; in a direct chat the reply refers to no message", async () => {
    const { chat: at } = await gatewayRoom({ agent: echo });
    await at(group).say("/help");
    await at(ada).say("/help");
    expect((await at(group).sent(1))[0]?.replyTo).toBe("1");
    expect((await at(ada).sent(1))[0]?.replyTo).toBeUndefined();
  });
});

it("stores the message that a command submits before the reply that completes the command", async () => {
  const home = await openHome();
  const steps: string[] = [];
  const store = wrapStore(home.store, ({ name, run }) => {
    steps.push(name);
    return run();
  });
  const { chat } = await gatewayRoom({ agent: echo, home: { ...home, store } });
  await chat(ada).say("hello");
  await chat(ada).texts(1);
  steps.length = 0;
  await chat(ada).say("/retry");
  await chat(ada).texts(3);
  // A crash between the two would complete the command without its message.
  const order = steps.filter((name) => ["acceptCommand", "accept", "acceptMany", "enqueue"].includes(name));
  expect(order).toEqual(["acceptCommand", expect.stringMatching(/^accept(Many)?$/), "enqueue"]);
});
