import { describe, expect, it, onTestFinished } from "vitest";
import { heldWaiting, noWaiting, type Scene, telegramScene } from "../../../test/support/telegram.ts";
import { getText, type NewMessage } from "../../core/message.ts";
import {
  type CursorValues,
  createOutbound,
  createPlatformSignal,
  type PlatformListener,
  type ReceivedEvent,
  startListener,
} from "../../testing/platform-scene.ts";
import { MAX_DOWNLOAD } from "./files.ts";
import type { TelegramOptions } from "./options.ts";
import { telegram } from "./platform.ts";

const PICTURE = new Uint8Array([1, 2, 3, 4]);

interface Listened extends Scene {
  readonly listening: PlatformListener;
  readonly cursors: CursorValues;
}

async function listened(options: Partial<TelegramOptions> = {}): Promise<Listened> {
  const scene = await telegramScene(options);
  const cursors: CursorValues = new Map();
  const listening = startListener(scene, scene.platform, cursors);
  onTestFinished(async () => void (await listening.stop()));
  return { ...scene, listening, cursors };
}

function messageOf(heard: ReceivedEvent | undefined): NewMessage {
  if (heard === undefined || !("message" in heard)) throw new Error("no message was heard");
  return heard.message;
}

/** The received events, when all updates are confirmed. */
async function wordsAfter({ fake, listening }: Listened, doing: () => Promise<unknown>): Promise<string[]> {
  await doing();
  await fake.untilIdle();
  return listening.events.map((heard) => getText(messageOf(heard)));
}

describe("in a group", () => {
  const inGroup = async (options: Partial<TelegramOptions> = {}) => {
    const scene = await listened(options);
    const group = await scene.fake.openGroup({ title: "Stable", kind: "supergroup" });
    const say = (text: string, more = {}) => scene.fake.say(group, scene.ann, text, more);
    return { ...scene, group, say };
  };

  it("only messages that mention the bot, reply to it or are commands are received", async () => {
    const scene = await inGroup();
    const { say, platform, group } = scene;
    const place = { platform: "telegram", chatType: "group", chatId: String(group) };
    const sent = await platform.send(createOutbound(place, "I am here"), createPlatformSignal());
    const replyTo = sent.state === "sent" ? Number(sent.messageId) : 0;
    const words = await wordsAfter(scene, async () => {
      await say("just chatting");
      await say("@fake_bot, are you there?");
      await say("and you, @FAKE_BOT?");
      await say("@fake_bot2 not you");
      await say("/status");
      await say("/status@fake_bot now");
      await say("/status@other_bot");
      await say("mail me at ann@fake_bot");
      await say("yes", { replyTo });
    });
    expect(words).toEqual(["are you there?", "and you, @FAKE_BOT?", "/status", "/status now", "yes"]);
  });

  it("all messages are received if no mention is required, except commands for other bots", async () => {
    const scene = await inGroup({ requireMention: false });
    const words = await wordsAfter(scene, async () => {
      await scene.say("just chatting");
      await scene.say("/status@other_bot");
    });
    expect(words).toEqual(["just chatting"]);
  });

  it("an album is received completely when one of its captions mentions the bot", async () => {
    const scene = await inGroup();
    await scene.fake.sendAlbum(scene.group, scene.ann, [
      { bytes: PICTURE },
      { bytes: PICTURE, caption: "@fake_bot which?" },
    ]);
    await scene.fake.untilIdle();
    const { parts } = messageOf(scene.listening.events[0]);
    expect(parts.map(({ type }) => type)).toEqual(["text", "image", "image"]);
  });

  it("messages of other bots are not received, and a sender who speaks for a chat has the id of that chat", async () => {
    const scene = await inGroup({ requireMention: false });
    const anonymous = { id: 1087968824, is_bot: true, first_name: "Group" };
    const chat = { id: scene.group, type: "supergroup", title: "Stable" };
    await scene.fake.sendRaw(scene.group, null, {
      text: "beep",
      from: { id: 99, is_bot: true, first_name: "Bot" },
    });
    await scene.fake.sendRaw(scene.group, null, { text: "hush", from: anonymous, sender_chat: chat });
    const channel = { id: -100_777, type: "channel", title: "News" };
    await scene.fake.sendRaw(scene.group, null, { text: "new", from: anonymous, sender_chat: channel });
    await scene.fake.untilIdle();
    expect(scene.listening.events.map(({ source }) => [source.userId, source.userName])).toEqual([
      [String(scene.group), "Stable"],
      ["-100777", "News"],
    ]);
  });

  it("a thread id is used only in a forum", async () => {
    const scene = await inGroup({ requireMention: false });
    await scene.fake.sendRaw(scene.group, scene.ann, { text: "in a reply thread", message_thread_id: 3 });
    const forum = await scene.fake.openGroup({ title: "Riders", forum: true });
    const topic = await scene.fake.openTopic(forum, "Horses");
    await scene.fake.say(forum, scene.ann, "in a topic", { topic });
    await scene.fake.untilIdle();
    expect(scene.listening.events.map(({ source }) => source.threadId)).toEqual([undefined, String(topic)]);
  });

  it("messages in a topic that the bot created are not replies to the bot", async () => {
    const scene = await inGroup();
    const bot = { id: 42, is_bot: true, first_name: "fake_bot" };
    const made = {
      message_id: 1,
      date: 1,
      chat: { id: scene.group },
      from: bot,
      forum_topic_created: { name: "x" },
    };
    const words = await wordsAfter(scene, () =>
      scene.fake.sendRaw(scene.group, scene.ann, { text: "chatting", reply_to_message: made }),
    );
    expect(words).toEqual([]);
  });

  it("that becomes a supergroup is logged, and answers go to its new id", async () => {
    const scene = await inGroup();
    const group = await scene.fake.openGroup({ title: "Growing" });
    const grown = await scene.fake.upgrade(group);
    await scene.fake.untilIdle();
    expect(scene.logged.map(({ fields }) => fields)).toContainEqual({ from: group, to: grown });
    const place = { platform: "telegram", chatType: "group", chatId: String(group) };
    expect(
      await scene.platform.send(createOutbound(place, "still here"), createPlatformSignal()),
    ).toMatchObject({
      state: "sent",
    });
    expect((await scene.fake.messages(grown)).map(({ text }) => text)).toEqual(["still here"]);
  });
});

describe("the content of a message", () => {
  it("is passed with its sender, time and id", async () => {
    const { fake, dm, ann, listening } = await listened();
    const id = await fake.say(dm, ann, "hello");
    await fake.untilIdle();
    const at = Math.floor(((await fake.messages(dm))[0]?.at ?? 0) / 1000) * 1000;
    expect(messageOf(listening.events[0])).toEqual({
      role: "user",
      parts: [{ type: "text", text: "hello" }],
      at,
      origin: { platform: "telegram", platformMessageId: String(id), userId: "7", userName: "Ann" },
    });
  });

  it("a reply contains a shortened quote, except of the bot's last message", async () => {
    const scene = await listened();
    const { fake, dm, ann, platform } = scene;
    const old = await fake.say(dm, ann, `${"long ".repeat(150)}\nsecond line`);
    const place = { platform: "telegram", chatType: "dm", chatId: String(dm) };
    const sent = await platform.send(createOutbound(place, "the latest"), createPlatformSignal());
    const words = await wordsAfter(scene, async () => {
      await fake.say(dm, ann, "this one", { replyTo: old });
      await fake.say(dm, ann, "only a part", { replyTo: old, quote: "long\nlong" });
      await fake.say(dm, ann, "thanks", { replyTo: sent.state === "sent" ? Number(sent.messageId) : 0 });
      await fake.say(dm, ann, "/retry", { replyTo: old });
    });
    const quoted = words[1]?.split("\n").slice(0, -1).join("\n") ?? "";
    expect(quoted).toMatch(/^> long long .*…$/);
    expect(quoted.length).toBe("> ".length + 500);
    expect(words.slice(1).map((said) => said.split("\n").at(-1))).toEqual([
      "this one",
      "only a part",
      "thanks",
      "/retry",
    ]);
    expect(words[2]).toBe("> long\n> long\nonly a part");
    expect(words.slice(3)).toEqual(["thanks", "/retry"]);
  });

  it("a forwarded command is no command", async () => {
    const scene = await listened();
    const forward_origin = { type: "hidden_user", sender_user_name: "Bob\n/x", date: 1 };
    const words = await wordsAfter(scene, () =>
      scene.fake.sendRaw(scene.dm, scene.ann, { text: "/approve 1", forward_origin }),
    );
    expect(words).toEqual(["[forwarded from Bob /x]\n/approve 1"]);
  });

  it("stickers, venues and contacts become text; service messages and reactions are ignored", async () => {
    const scene = await listened();
    const { fake, dm, ann } = scene;
    const words = await wordsAfter(scene, async () => {
      await fake.sendRaw(dm, ann, { sticker: { file_id: "s", emoji: "🐎" } });
      await fake.sendRaw(dm, ann, { location: { latitude: 1.5, longitude: 2 } });
      await fake.sendRaw(dm, ann, { contact: { first_name: "Bob", phone_number: "+1" } });
      await fake.sendRaw(dm, ann, { poll: { question: "Which?", options: [{ text: "a" }, { text: "b" }] } });
      await fake.sendRaw(dm, ann, { pinned_message: { message_id: 1 } });
      await fake.pushUpdate({ message_reaction: { chat: { id: dm }, message_id: 1 } });
      await fake.pushUpdate({ something_of_the_future: true });
      const hidden = [{ type: "text_link", offset: 4, length: 4, url: "https://x.example" }];
      await fake.sendRaw(dm, ann, { text: "see this", entities: hidden });
    });
    expect(words).toEqual([
      "[sticker 🐎]",
      "[location: 1.5, 2]",
      "[contact: Bob, +1]",
      "[poll: Which? a / b]",
      "see [this](https://x.example)",
    ]);
  });

  it("an invalid update does not block later ones", async () => {
    const scene = await listened();
    const words = await wordsAfter(scene, async () => {
      await scene.fake.pushUpdate({ message: { message_id: 1, text: "nowhere" } });
      await scene.fake.say(scene.dm, scene.ann, "and on");
    });
    expect(words).toEqual(["and on"]);
    expect(scene.logged.map((entry) => entry.words)).toContain(
      "parsing a Telegram update failed; skipped it",
    );
  });

  it("a lone surrogate is replaced", async () => {
    const scene = await listened();
    const words = await wordsAfter(scene, () => scene.fake.say(scene.dm, scene.ann, "a\ud83d"));
    expect(words).toEqual(["a\ufffd"]);
  });
});

describe("files", () => {
  it("are downloaded: the largest photo, documents, audio and video", async () => {
    const { fake, dm, ann, listening } = await listened();
    await fake.sendPhoto(dm, ann, PICTURE, { caption: "look" });
    await fake.sendFile(dm, ann, new Uint8Array([5]), {
      name: "../../etc/pass\u0000wd\n.txt",
      mimeType: "text/plain",
    });
    await fake.sendFile(dm, ann, new Uint8Array([6]), { kind: "voice", mimeType: "audio/ogg" });
    await fake.sendFile(dm, ann, new Uint8Array([7]), {
      kind: "video",
      name: "run.mp4",
      mimeType: "video/mp4",
    });
    await fake.sendFile(dm, ann, PICTURE, { name: "drawn.png", mimeType: "image/png" });
    await fake.untilIdle();
    const parts = listening.events.map((heard) => messageOf(heard).parts);
    expect(parts[0]).toMatchObject([
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/jpeg", size: 4 },
    ]);
    expect(parts.slice(1).flat()).toMatchObject([
      { type: "file", mimeType: "text/plain", name: "passwd.txt" },
      { type: "file", mimeType: "audio/ogg", name: "voice.ogg" },
      { type: "file", mimeType: "video/mp4", name: "run.mp4" },
      { type: "image", mimeType: "image/png", name: "drawn.png" },
    ]);
    const [photo] = listening.events;
    const blobs = photo !== undefined && "blobs" in photo ? photo.blobs : undefined;
    expect(blobs?.map(({ bytes }) => [...bytes])).toEqual([[...PICTURE]]);
    expect(parts[0]?.[1]).toMatchObject({ blob: blobs?.[0]?.hash });
  });

  it("that are too large or cannot be downloaded become text, and the message is not lost", async () => {
    const scene = await listened();
    const { fake, dm, ann } = scene;
    for (let time = 0; time < 3; time += 1) await fake.failNext("download", { kind: "cut" });
    const words = await wordsAfter(scene, async () => {
      await fake.sendPhoto(dm, ann, PICTURE, { caption: "broken" });
      await scene.listening.until(1); // otherwise the next files would be downloaded at the same time, and fail
      await fake.sendFile(dm, ann, PICTURE, {
        name: "film.mkv",
        claimedSize: 30 * 1024 * 1024,
        caption: "large",
      });
      await fake.sendFile(dm, ann, new Uint8Array(MAX_DOWNLOAD + 1), { name: "liar.bin", claimedSize: 5 });
    });
    expect(words).toEqual([
      "broken\n[photo: could not be received; the download failed]",
      "large\n[file film.mkv: could not be received; it has 30 MB, and the limit of Telegram for bots is 20 MB]",
      "[file liar.bin: could not be received; it has 21 MB, and the limit of Telegram for bots is 20 MB]",
    ]);
    expect(JSON.stringify(scene.logged)).not.toContain("fake-token");
  });

  it("are retried when a download breaks", async () => {
    const { fake, dm, ann, listening } = await listened();
    await fake.failNext("getFile", { kind: "badGateway" });
    await fake.failNext("download", { kind: "cut" });
    await fake.sendPhoto(dm, ann, PICTURE);
    await fake.untilIdle();
    expect(messageOf(listening.events[0]).parts).toMatchObject([{ type: "image", size: 4 }]);
  });

  it("that are slow delay their own chat only", async () => {
    const { fake, dm, ann, listening } = await listened();
    await fake.failNext("download", { kind: "hang" });
    await fake.sendPhoto(dm, ann, PICTURE);
    await fake.untilCalled("getFile", 1);
    const other = await fake.openDm(8);
    await fake.say(other, 8, "quick");
    const [first] = await listening.until(1);
    expect(getText(messageOf(first))).toBe("quick");
    expect(await fake.pending()).toBe(2); // the slow one is not confirmed
    await listening.stop();
    expect(listening.events).toHaveLength(1); // an aborted download does not deliver the message without its file
  });
});

describe("an album", () => {
  it("is one message with the id of its first picture, also if the others arrive later", async () => {
    const timing = heldWaiting();
    const { fake, dm, ann, listening, cursors } = await listened({ timing });
    const [first] = await fake.sendAlbum(dm, ann, [{ bytes: PICTURE, caption: "look" }], { group: "g" });
    await timing.begun();
    await fake.sendAlbum(dm, ann, [{ bytes: new Uint8Array([9]) }], { group: "g" });
    for (let round = 0; round < 5; round += 1) {
      expect(listening.events).toEqual([]);
      timing.release();
      if (round < 4) await timing.begun();
    }
    const [album] = await listening.until(1);
    expect(album?.messageId).toBe(String(first));
    expect(messageOf(album).parts.map(({ type }) => type)).toEqual(["text", "image", "image"]);
    await fake.untilIdle();
    expect(timing.waits.slice(0, 5)).toEqual([200, 200, 200, 200, 200]); // 0.8 s after the last
    expect(cursors.get("telegram:42")).toBe("500003");
  });

  it("is complete as soon as another message arrives in its chat", async () => {
    const timing = heldWaiting();
    const { fake, dm, ann, listening } = await listened({ timing });
    await fake.sendAlbum(dm, ann, [{ bytes: PICTURE }, { bytes: PICTURE }]);
    await fake.say(dm, ann, "these two");
    const heard = await listening.until(2);
    expect(heard.map((one) => messageOf(one).parts.length)).toEqual([2, 1]);
  });

  it("is not confirmed before it is stored, and is redelivered as the same message", async () => {
    const timing = heldWaiting();
    const scene = await telegramScene({ timing });
    const { fake, dm, ann } = scene;
    const cursors: CursorValues = new Map();
    const other = await fake.openDm(8);
    const begun = startListener(scene, scene.platform, cursors);
    const [first] = await fake.sendAlbum(dm, ann, [{ bytes: PICTURE }], { group: "g" });
    await fake.say(other, 8, "in between");
    await fake.sendAlbum(dm, ann, [{ bytes: PICTURE }], { group: "g" });
    await begun.until(1);
    await timing.begun();
    await begun.stop(); // while the album is incomplete
    expect(begun.events.map((one) => getText(messageOf(one)))).toEqual(["in between"]);

    const again = telegram({ token: fake.token, apiRoot: fake.url, timing: noWaiting() });
    const listening = startListener(scene, again, cursors);
    const heard = await listening.until(2);
    const album = heard.find(({ source }) => source.chatId === String(dm));
    expect([album?.messageId, messageOf(album).parts.length]).toEqual([String(first), 2]);
    await listening.stop();
  });

  it("keeps its other pictures when a caption is edited", async () => {
    const { fake, dm, ann, listening } = await listened();
    const [first = 0] = await fake.sendAlbum(dm, ann, [
      { bytes: PICTURE, caption: "tow" },
      { bytes: PICTURE },
    ]);
    await fake.untilIdle();
    await fake.edit(dm, first, "two");
    const [, edited] = await listening.until(2);
    expect(edited).toMatchObject({ kind: "edited", messageId: String(first) });
    expect(messageOf(edited).parts).toMatchObject([{ text: "two" }, { type: "image" }, { type: "image" }]);
  });
});

describe("buttons", () => {
  const ask = async (scene: Listened, buttons: readonly { label: string; line: string }[]) => {
    const place = { platform: "telegram", chatType: "dm", chatId: String(scene.dm) };
    const sent = await scene.platform.send(
      createOutbound(place, "Which?", { buttons: [buttons] }),
      createPlatformSignal(),
    );
    if (sent.state !== "sent") throw new Error("not sent");
    return Number(sent.messageId);
  };

  it("send their line for the person who pressed, and stop their loading indicator", async () => {
    const scene = await listened();
    const { fake, dm, listening } = scene;
    await fake.addUser({ id: 8, firstName: "Bob" });
    const id = await ask(scene, [{ label: "Yes", line: "/approve 7 äöü" }]);
    const press = await fake.press(dm, id, 8, "Yes");
    await fake.untilIdle();
    expect(listening.events).toMatchObject([
      {
        kind: "pressed",
        line: "/approve 7 äöü",
        messageId: `callback:${press}`,
        source: { userId: "8", userName: "Bob" },
      },
    ]);
    expect(await fake.pressAnswers()).toEqual([{ press }]);
  });

  it("with long choices work after a restart, from their label", async () => {
    const scene = await listened();
    const { fake, dm, ann } = scene;
    const [one, two] = ["the first way of doing it ".repeat(4), "the second way of doing it ".repeat(4)];
    const id = await ask(scene, [
      { label: one, line: one },
      { label: two, line: two },
    ]);
    await scene.listening.stop();
    const again = telegram({ token: fake.token, apiRoot: fake.url, timing: noWaiting() });
    const listening = startListener(scene, again, new Map());
    await fake.press(dm, id, ann, two);
    expect(await listening.until(1)).toMatchObject([{ kind: "pressed", line: two }]);
    await listening.stop();
  });

  it("with a long line copy it to the clipboard", async () => {
    const scene = await listened();
    const line = `/remember ${"x".repeat(100)}`;
    await ask(scene, [{ label: "Keep", line }]);
    expect((await scene.fake.messages(scene.dm))[0]?.buttons).toEqual([[{ label: "Keep", copies: line }]]);
  });

  it("that are too old show a notice", async () => {
    const { fake, dm, ann, listening } = await listened();
    const from = { id: ann, is_bot: false, first_name: "Ann" };
    const message = { message_id: 1, date: 0, chat: { id: dm, type: "private" } };
    await fake.pushUpdate({ callback_query: { id: "old", from, message, data: "#0.0", chat_instance: "1" } });
    await fake.untilIdle();
    expect(listening.events).toEqual([]);
    expect(await fake.calls("answerCallbackQuery")).toMatchObject([
      { payload: { text: "This button is too old. Please write it instead." } },
    ]);
  });
});

describe("the connection", () => {
  it("backs off after every failure, up to half a minute, and reports when it works again", async () => {
    const timing = noWaiting();
    const scene = await telegramScene({ timing });
    for (let time = 0; time < 6; time += 1) await scene.fake.failNext("getUpdates", { kind: "badGateway" });
    await scene.fake.failNext("getUpdates", { kind: "cut" });
    const listening = startListener(scene, scene.platform, new Map());
    await listening.connected;
    expect(timing.waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    await listening.stop();
  });

  it("waits as long as Telegram requests", async () => {
    const timing = noWaiting();
    const scene = await telegramScene({ timing });
    const parameters = { retry_after: 17 };
    await scene.fake.failNext("getMe", {
      kind: "error",
      code: 429,
      description: "Too Many Requests",
      parameters,
    });
    const listening = startListener(scene, scene.platform, new Map());
    await listening.connected;
    expect(timing.waits).toEqual([17_000]);
    await listening.stop();
  });

  it("ends when another program polls with the same token, and tells what to do", async () => {
    const scene = await listened();
    await scene.fake.untilIdle();
    const other = telegram({ token: scene.fake.token, apiRoot: scene.fake.url, timing: noWaiting() });
    const rival = startListener(scene, other, new Map());
    const { error } = await scene.listening.ended;
    expect(error).toMatchObject({ code: "platform_down" });
    expect(String(error)).toContain("Another program");
    await rival.stop();
  });

  it("removes a webhook that prevents polling", async () => {
    const scene = await telegramScene();
    await scene.fake.setWebhook(true);
    const listening = startListener(scene, scene.platform, new Map());
    await listening.connected;
    expect(await scene.fake.calls("deleteWebhook")).toHaveLength(1);
    await listening.stop();
  });

  it("polls from its cursor at the start, and from the beginning if Telegram rejects it", async () => {
    const scene = await telegramScene();
    const { fake, dm, ann } = scene;
    await fake.say(dm, ann, "one");
    await fake.say(dm, ann, "two");
    await fake.failNext("getUpdates", {
      kind: "error",
      code: 400,
      description: "Bad Request: unknown offset",
    });
    const listening = startListener(scene, scene.platform, new Map([["telegram:42", "900000"]]));
    const heard = await listening.until(2);
    expect(heard.map((one) => getText(messageOf(one)))).toEqual(["one", "two"]);
    await fake.untilIdle();
    const offsets = (await fake.calls("getUpdates")).map(({ payload }) => payload.offset);
    expect(offsets.slice(0, 2)).toEqual([undefined, 500_003]);
    await listening.stop();
  });

  it("confirms nothing of a batch before all of it is stored", async () => {
    const scene = await telegramScene();
    const { fake, dm, ann } = scene;
    const other = await fake.openDm(8);
    await fake.say(dm, ann, "slow");
    await fake.say(other, 8, "quick");
    const { promise, resolve } = Promise.withResolvers<void>();
    const cursors: CursorValues = new Map();
    const listening = startListener(scene, scene.platform, cursors, ({ source }) =>
      source.chatId === String(dm) ? promise : undefined,
    );
    await listening.until(2);
    await fake.untilCalled("getUpdates", 4);
    expect(await fake.pending()).toBe(2);
    expect([...cursors.values()]).toEqual(["500001"]);
    resolve();
    await fake.untilIdle();
    // Passed before the other one was stored: the cursor lags behind, but is never ahead.
    expect([...cursors.values()]).toEqual(["500002"]);
    expect((await fake.calls("getUpdates")).at(-1)?.payload.offset).toBe(500_003);
    await listening.stop();
  });

  it("passes no later message of a chat after a message that was not stored", async () => {
    const scene = await telegramScene();
    const { fake, dm, ann } = scene;
    for (const words of ["one", "two", "three"]) await fake.say(dm, ann, words);
    const full = new Error("the disk is full");
    const listening = startListener(scene, scene.platform, new Map(), (heard) =>
      getText(messageOf(heard)) === "two" ? Promise.reject(full) : undefined,
    );
    expect((await listening.ended).error).toBe(full);
    expect(listening.events.map((heard) => getText(messageOf(heard)))).toEqual(["one", "two"]);
    expect(await fake.pending()).toBe(3);
  });

  it.each([1, 2, 3])("loses nothing and keeps the order with random faults (%i)", async (seed) => {
    const scene = await telegramScene({ requireMention: false });
    const { fake } = scene;
    await fake.setFaults({
      seed,
      duplicateUpdates: 0.2,
      cut: 0.1,
      badGateway: 0.1,
      dropAfter: 0.1,
      delayMs: 2,
    });
    const listening = startListener(scene, scene.platform, new Map());
    const chats = await Promise.all([11, 12, 13].map((user) => fake.openDm(user)));
    const said = new Map<number, string[]>(chats.map((chat) => [chat, []]));
    for (let n = 0; n < 90; n += 1) {
      const chat = chats[n % 3] ?? 0;
      said.get(chat)?.push(String(await fake.say(chat, chat, `message ${n}`)));
      if (n % 10 === 0) await fake.untilIdle();
    }
    await fake.untilIdle();
    await listening.stop();
    for (const [chat, ids] of said) {
      const heard = listening.events.filter(({ source }) => source.chatId === String(chat));
      expect([...new Set(heard.map(({ messageId }) => messageId))]).toEqual(ids);
    }
  });

  it("never reveals the token", async () => {
    const scene = await telegramScene();
    for (const kind of ["cut", "badGateway", "dropAfter"] as const) {
      await scene.fake.failNext("getUpdates", { kind });
      await scene.fake.failNext("getMe", { kind });
    }
    const listening = startListener(scene, scene.platform, new Map());
    await listening.connected;
    await listening.stop();
    expect(scene.logged.length).toBeGreaterThan(5);
    expect(JSON.stringify(scene.logged)).not.toContain("fake-token");
  });
});

describe("many files of one chat", () => {
  it("are downloaded four at a time until they are stored, and passed in order", async () => {
    const scene = await telegramScene();
    const stored = Promise.withResolvers<void>();
    const listening = startListener(scene, scene.platform, new Map(), () => stored.promise);
    onTestFinished(async () => void (await listening.stop()));
    const pictures = Array.from({ length: 10 }, (_, at) => new Uint8Array([at]));
    for (const bytes of pictures) await scene.fake.sendPhoto(scene.dm, scene.ann, bytes);
    await listening.until(4);
    expect(await scene.fake.calls("getFile")).toHaveLength(4);
    stored.resolve();
    const heard = await listening.until(10);
    const bytesOf = (one: ReceivedEvent) =>
      "blobs" in one ? one.blobs?.map(({ bytes }) => [...bytes]) : undefined;
    expect(heard.map(bytesOf)).toEqual(pictures.map((bytes) => [[...bytes]]));
    await scene.fake.untilIdle();
  });

  it("that is stopped while files are queued ends, and they are redelivered", async () => {
    const scene = await telegramScene();
    const stuck = Promise.withResolvers<void>();
    const first = startListener(scene, scene.platform, new Map(), () => stuck.promise);
    for (let at = 0; at < 10; at += 1) await scene.fake.sendPhoto(scene.dm, scene.ann, PICTURE);
    await first.until(4);
    const stopped = first.stop();
    stuck.reject(new Error("the disk is full"));
    await stopped;
    const second = startListener(
      scene,
      telegram({ token: scene.fake.token, apiRoot: scene.fake.url }),
      new Map(),
    );
    onTestFinished(async () => void (await second.stop()));
    expect(await second.until(10)).toHaveLength(10);
  });
});
