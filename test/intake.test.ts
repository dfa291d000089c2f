import { describe, expect, it } from "vitest";
import { echo } from "../src/agents/echo.ts";
import { createLinkCode } from "../src/commands/pairing.ts";
import { OWNER } from "../src/core/owner.ts";
import { type IntakeRoom, intakeRoom, memoryMessenger } from "./intake/room.ts";
import { telegramScene } from "./support/telegram.ts";
import { HOUR } from "./support/test-home.ts";
import { shownIn } from "./telegram-gateway/scene.ts";

const FLOOD = 2000;
/** The maximum number of store writes between the start of a flood and another person's later message. */
const MOST_STEPS = 150;
const FLOODER = 66;
const allowed = (...ids: readonly (string | number)[]) => ({
  access: { everywhere: { allow: ids.map(String) }, platforms: {} },
});

/** The numbers of the accepted messages of a chat, in order. */
function listAccepted({ accepted }: IntakeRoom, chat: string | number): number[] {
  return accepted().flatMap((taken) => (taken.chat === String(chat) ? [Number(taken.messageId)] : []));
}

function expectOnceInOrder(numbers: readonly number[]): void {
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
}

describe("one chat that sends two thousand messages on Telegram", () => {
  /** All messages are pending at Telegram before the gateway starts; the honest one is in the middle of the flood. */
  async function startFlooded(flooder: "stranger" | "member") {
    const scene = await telegramScene();
    const { fake, dm, ann } = scene;
    const chat = await fake.openDm(FLOODER);
    for (let at = 1; at <= FLOOD / 2; at += 1) await fake.say(chat, FLOODER, `flood ${at}`);
    await fake.say(dm, ann, "is anybody there?");
    for (let at = FLOOD / 2 + 1; at <= FLOOD; at += 1) await fake.say(chat, FLOODER, `flood ${at}`);
    const settings = flooder === "member" ? allowed(ann, FLOODER) : allowed(ann);
    const room = await intakeRoom({ platform: scene.platform, agent: echo, settings });
    return { ...scene, room, chat };
  }

  it.each(["stranger", "member"] as const)(
    "delays other chats by only a few steps if its sender is a %s",
    async (who) => {
      const { fake, dm, chat, room } = await startFlooded(who);
      await fake.untilShown(dm, "You said: is anybody there?");
      const honest = room.accepted().filter((taken) => taken.chat === String(dm));
      expect(honest).toHaveLength(1);
      expect(honest[0]?.step).toBeLessThan(MOST_STEPS);
      await fake.untilIdle();
      expect(await shownIn(fake, dm)).toHaveLength(1);
      expectOnceInOrder(listAccepted(room, chat));
      expect(listAccepted(room, chat)).toHaveLength(who === "member" ? FLOOD : 1);
    },
    60_000,
  );
});

describe("one chat that sends two thousand messages at once", () => {
  it.each(["stranger", "member"] as const)(
    "delays other chats by only a few steps if its sender is a %s",
    async (who) => {
      const messenger = memoryMessenger();
      const settings = who === "member" ? allowed("ann", "eve") : allowed("ann");
      const room = await intakeRoom({ platform: messenger.platform, agent: echo, settings });
      const receiver = await messenger.receiver;
      const flood = Array.from({ length: FLOOD }, (_, at) => messenger.message("eve", `flood ${at}`));
      const before = flood.slice(0, FLOOD / 2).map((one) => receiver.receiveMessage(one));
      const honest = receiver.receiveMessage(messenger.message("ann", "is anybody there?"));
      const after = flood.slice(FLOOD / 2).map((one) => receiver.receiveMessage(one));
      await honest;
      const [taken] = room.accepted().filter(({ chat }) => chat === "ann");
      expect(taken?.step).toBeLessThan(10);
      expect(await messenger.sent("ann", 1)).toEqual(["You said: is anybody there?"]);
      await Promise.all([...before, ...after]);
      expectOnceInOrder(listAccepted(room, "eve"));
    },
  );

  it("queues a thousand of them, notifies a member once that others are dropped, and accepts more after they are stored", async () => {
    const messenger = memoryMessenger();
    const settings = { ...allowed("ann", "eve"), maxPending: FLOOD };
    const room = await intakeRoom({ platform: messenger.platform, agent: echo, settings });
    const receiver = await messenger.receiver;
    const flood = Array.from({ length: FLOOD }, (_, at) => messenger.message("eve", `flood ${at}`));
    await Promise.all(flood.map((one) => receiver.receiveMessage(one)));
    expect(listAccepted(room, "eve")).toEqual(flood.slice(0, 1000).map(({ messageId }) => Number(messageId)));
    const texts = await messenger.sent("eve", 1);
    expect(texts.filter((words) => words.includes("so this one was dropped"))).toHaveLength(1);
    await receiver.receiveMessage(messenger.message("eve", "later"));
    expect(listAccepted(room, "eve")).toHaveLength(1001);
  });
});

describe("a stranger", () => {
  async function openRoom(settings = allowed("ann")) {
    const messenger = memoryMessenger();
    const room = await intakeRoom({ platform: messenger.platform, agent: echo, settings });
    const receiver = await messenger.receiver;
    const say = async (chat: string, words: string): Promise<void> =>
      receiver.receiveMessage(messenger.message(chat, words));
    const writes = (): string[] => room.steps.map(({ name }) => name);
    return { messenger, room, receiver, say, writes };
  }

  it("who has a code causes no further row, and one cursor update for many messages", async () => {
    const { messenger, room, say, writes } = await openRoom();
    await say("eve", "hello");
    await messenger.sent("eve", 1);
    const before = writes().length;
    for (let at = 0; at < 50; at += 1) await say("eve", `hello ${at}`);
    await room.untilStep("moveCursor");
    const more = writes()
      .slice(before)
      .filter((name) => name !== "settle");
    expect(more).toEqual(["moveCursor"]);
    expect(await room.home.store.inbox.getCursor({ name: "memory" })).toBe("51");
  });

  it("who got a code before a restart causes no row after it", async () => {
    const { messenger, room, say } = await openRoom();
    await say("eve", "hello");
    await messenger.sent("eve", 1);
    const later = memoryMessenger();
    const again = await intakeRoom({
      platform: { ...later.platform, account: "2" },
      agent: echo,
      settings: allowed("ann"),
      home: room.home,
    });
    await (await later.receiver).receiveMessage(later.message("eve", "hello?"));
    expect(listAccepted(again, "eve")).toEqual([]);
  });

  it("gets another code after ten minutes", async () => {
    const { messenger, room, say } = await openRoom();
    await say("eve", "hello");
    const [first] = await messenger.sent("eve", 1);
    await room.pass(HOUR / 6);
    await say("eve", "hello?");
    const [, second] = await messenger.sent("eve", 2);
    expect(second).toContain("Give this code");
    expect(second).not.toBe(first);
  });

  it("gets access by the owner's code during their own flood, and the next message is answered", async () => {
    const { messenger, room, receiver } = await openRoom();
    const { store, clock } = room.home;
    const { code } = await createLinkCode({ store, clock, platform: "telegram", person: OWNER });
    const words = [...Array.from({ length: 100 }, (_, at) => `flood ${at}`), `/pair ${code}`, "am I in?"];
    await Promise.all(words.map((each) => receiver.receiveMessage(messenger.message("eve", each))));
    const sent = await messenger.sent("eve", 3);
    expect(sent.some((text) => text.includes("this chat is yours now"))).toBe(true);
    expect(sent).toContain("You said: am I in?");
  });

  it("who guesses codes is locked out after five guesses, and causes no more writes", async () => {
    const { writes, say, messenger } = await openRoom();
    for (let at = 0; at < 6; at += 1) await say("eve", "/pair ABCD-EFGH");
    await say("eve", "a message behind the last guess");
    await messenger.sent("eve", 1);
    const before = writes().filter((name) => name !== "settle").length;
    for (let at = 0; at < 20; at += 1) await say("eve", "/pair ABCD-EFGH");
    const after = writes().filter((name) => name !== "settle" && name !== "moveCursor");
    expect(after).toHaveLength(before);
  });
});

describe("a stranger on Telegram", () => {
  it("does not make the gateway download files", async () => {
    const scene = await telegramScene();
    const { fake, ann } = scene;
    const chat = await fake.openDm(FLOODER);
    await fake.sendPhoto(chat, FLOODER, new Uint8Array([1, 2, 3]));
    await intakeRoom({ platform: scene.platform, agent: echo, settings: allowed(ann) });
    await fake.untilAnswered(chat, 1);
    expect(await fake.calls("getFile")).toEqual([]);
    expect((await shownIn(fake, chat))[0]?.text).toContain("Give this code");
  });
});
