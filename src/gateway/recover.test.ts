import { describe, expect, it } from "vitest";
import { look } from "../../test/support/database.ts";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { deadRunner } from "../../test/support/talking.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { textPart } from "../core/message.ts";
import { REPEATED_MARK } from "../core/repetition.ts";
import type { Source } from "../core/source.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };

/** A home in which a crashed process accepted these commands and answered none. */
async function openHomeWithCommands(lines: readonly string[], source: Source = ada): Promise<Home> {
  const home = await openHome();
  const { store, clock } = home;
  const runner = deadRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  for (const [n, line] of lines.entries()) {
    const about = { profile: "main", source, messageId: `left-${n}`, line, runner: runner.id };
    await store.inbox.acceptCommand({ ...about, now: clock.now() });
  }
  return home;
}

const countOpenCommands = ({ file }: Home): unknown =>
  look(file, (db) => db.prepare("select count(*) from inbox where state = 4").pluck().get());

describe("a command that a crashed process left", () => {
  it("runs again if it only reads", async () => {
    const home = await openHomeWithCommands(["/platforms", "/insights"]);
    const room = await gatewayRoom({ agent: echo, home });
    const [platforms, insights] = await room.chat(ada).texts(2);
    expect(platforms).toMatch(/^- Telegram/);
    expect(insights).toBe("Nothing was said in the last 30 days.");
    expect(countOpenCommands(home)).toBe(0);
  });

  it("does not run again if it may have changed something: the person gets one notice per command, in order", async () => {
    const home = await openHomeWithCommands(["/new", "/title Plans", "/nonsense"]);
    const room = await gatewayRoom({ agent: echo, home });
    const chat = room.chat(ada);
    const told = await chat.texts(3);
    expect(
      told.map(
        (words) => /while it ran `(.*)`, so the command may have taken effect or not/.exec(words)?.[1],
      ),
    ).toEqual(["/new", "/title Plans", "/nonsense"]);
    expect(countOpenCommands(home)).toBe(0);
    expect(
      await home.store.conversations.findConversations({ asker: { everyone: true }, source: ada }),
    ).toEqual([]);
    // The messenger delivers the same message id again: it is a duplicate.
    await chat.say("hello");
    expect(await chat.texts(4)).toHaveLength(4);
  });

  it("is shortened in its notice", async () => {
    const home = await openHomeWithCommands([`/title ${"word ".repeat(100_000)}`]);
    const [told, ...more] = await (await gatewayRoom({ agent: echo, home })).chat(ada).texts(1);
    expect(told).toMatch(/while it ran `\/title word word .*…`/);
    expect(told?.length).toBeLessThan(400);
    expect(more).toEqual([]);
  });

  it("gets no notice if it was a message of a stranger", async () => {
    const home = await openHomeWithCommands(["", "/new"]);
    const texts = await (await gatewayRoom({ agent: echo, home })).chat(ada).texts(1);
    expect(texts).toEqual([expect.stringContaining("/new")]);
    expect(countOpenCommands(home)).toBe(0);
  });

  it("does not run again for a person who has lost access", async () => {
    const home = await openHomeWithCommands(["/platforms"]);
    const access = { everywhere: { strangers: "ignore" as const }, platforms: {} };
    const room = await gatewayRoom({ agent: echo, home, settings: { access } });
    const texts = await room.chat(ada).texts(1);
    expect(texts).toEqual([expect.stringContaining("was interrupted while it ran")]);
  });
});

describe("a message that a crashed process left", () => {
  it("is answered before new messages, and in order", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const runner = deadRunner();
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    for (const words of ["one", "two"])
      await store.inbox.accept({
        ...{ source: ada, profile: "main", scope: { groupsPerUser: true, threadsPerUser: true }, reset: {} },
        newSession: { id: `s-${words}`, kind: "chat" },
        messageId: words,
        message: { role: "user", parts: [textPart(words)] },
        claim: { runner: runner.id, take: "one" },
        now: clock.now(),
      });
    const room = await gatewayRoom({ agent: echo, home, settings: { busy: "queue" } });
    const chat = room.chat(ada);
    await chat.say("three");
    const answers = await chat.texts(3);
    expect(answers.map((words) => /(one|two|three)/.exec(words)?.[0])).toEqual(["one", "two", "three"]);
  });
});

describe("a message that a process was sending when it crashed", () => {
  it("is sent again, with the mark of a possible repetition", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const runner = deadRunner();
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    const deliveries = [{ target: ada, parts: [textPart("hello")], sendNow: true }];
    await store.outbox.enqueue({ deliveries, runner: runner.id, now: clock.now() });
    const room = await gatewayRoom({ agent: echo, home });
    expect(await room.chat(ada).texts(1)).toEqual([`${REPEATED_MARK}\nhello`]);
  });
});
