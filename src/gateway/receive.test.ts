import { describe, expect, it } from "vitest";
import { look } from "../../test/support/database.ts";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { heldAgent } from "../../test/support/talking.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { getText, type NewMessage, textPart } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";
import { SUMMARY_REQUEST } from "../turns/request-summary.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2", userName: "Bob" };
/** Ada has access, Bob has not. */
const access = { everywhere: { allow: ["1"], strangers: "pair" as const }, platforms: {} };
const MINUTE = 60_000;

const buildMessage = (words: string): NewMessage => ({ role: "user", parts: [textPart(words)] });
const countRows = ({ file }: Home, table: string): unknown =>
  look(file, (db) => db.prepare(`select count(*) from ${table}`).pluck().get());

describe("a command", () => {
  it("that the messenger delivers twice runs once", async () => {
    const { receiver, chat } = await gatewayRoom({ agent: echo });
    const line = { source: ada, messageId: "m1", message: buildMessage("/title Plans") };
    await receiver.receiveMessage(line);
    await receiver.receiveMessage(line);
    await chat(ada).say("hello");
    const [titled, ...more] = await chat(ada).texts(2);
    expect(titled).toContain("Plans");
    expect(more).toEqual(["You said: hello"]);
  });

  it("that is unknown is an ordinary message in a group", async () => {
    const group = { ...ada, chatType: "group", chatId: "-100" };
    const { chat } = await gatewayRoom({ agent: echo });
    await chat(group).say("/weather today");
    expect(await chat(group).texts(1)).toEqual(["You said: /weather today"]);
  });

  it("that takes long does not delay the next messages", async () => {
    const summing = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const agent: Agent = {
      name: "slow",
      contextWindow: 1000,
      async *run({ history }) {
        const words = getText(history.at(-1) ?? { parts: [] });
        if (words === SUMMARY_REQUEST) {
          asked.resolve();
          await summing.promise;
        }
        yield { type: "text", text: "ok" };
      },
    };
    const room = await gatewayRoom({ agent });
    const chat = room.chat(ada);
    for (let said = 1; said <= 5; said += 1) {
      await chat.say(`message ${said}`);
      await chat.texts(said);
    }
    await chat.say("/compress");
    await asked.promise;
    await chat.say("/status");
    expect(await chat.texts(6)).toHaveLength(6);
    summing.resolve();
    await chat.texts(7);
  });
});

describe("a person without access", () => {
  it("has no effect by pressing a button", async () => {
    const { receiver, home } = await gatewayRoom({ agent: echo, settings: { access } });
    for (const messageId of ["p1", "p2"])
      await receiver.receivePress({ source: bob, messageId, line: "/status" });
    expect([countRows(home, "inbox"), countRows(home, "deliveries")]).toEqual([0, 0]);
  });

  it("has no effect by editing a message, and gets no code for it", async () => {
    const { receiver, home } = await gatewayRoom({ agent: echo, settings: { access } });
    const edit = { source: bob, messageId: "e1", message: buildMessage("hello"), sentAt: home.clock.now() };
    await receiver.receiveEdit(edit);
    expect([countRows(home, "inbox"), countRows(home, "pairings")]).toEqual([0, 0]);
  });
});

describe("a flood of messages of a person without access", () => {
  it("gets no notice that too many messages are pending", async () => {
    const home = await openHome();
    const gate = Promise.withResolvers<void>();
    const store: Home["store"] = {
      ...home.store,
      access: {
        ...home.store.access,
        async getAccount(name) {
          await gate.promise;
          return home.store.access.getAccount(name);
        },
      },
    };
    const silent = { everywhere: { strangers: "ignore" as const }, platforms: {} };
    const room = await gatewayRoom({ agent: echo, home: { ...home, store }, settings: { access: silent } });
    // More than a queue holds, while none of them can be stored.
    const all = Array.from({ length: 1005 }, (_, at) =>
      room.receiver.receiveMessage({ source: bob, messageId: `m${at}`, message: buildMessage("hello") }),
    );
    gate.resolve();
    await Promise.all(all);
    expect(countRows(home, "deliveries")).toBe(0);
  });
});

describe("an edit of a message that never arrived", () => {
  it("is accepted as the message within minutes, and ignored later", async () => {
    const room = await gatewayRoom({ agent: echo });
    const { receiver, home } = room;
    const edit = (messageId: string, words: string, age: number) =>
      receiver.receiveEdit({
        source: ada,
        messageId,
        message: buildMessage(words),
        sentAt: home.clock.now() - age,
      });
    await edit("old", "long ago", 3 * MINUTE);
    expect(countRows(home, "inbox")).toBe(0);
    await edit("young", "just now", MINUTE);
    expect(await room.chat(ada).texts(1)).toEqual(["You said: just now"]);
  });
});

describe("the mode that a chat sets with /busy", () => {
  it("overrides the configuration", async () => {
    const agent = heldAgent();
    const room = await gatewayRoom({ agent, settings: { busy: "interrupt" } });
    const chat = room.chat(ada);
    await chat.say("/busy queue");
    await chat.texts(1);
    await chat.say("first");
    const first = await agent.asked();
    await chat.say("second");
    await first.say("one");
    first.end();
    const second = await agent.asked();
    await second.say("two");
    second.end();
    expect((await chat.texts(3)).slice(1)).toEqual(["one", "two"]);
  });
});
