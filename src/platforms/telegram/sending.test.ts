import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { placeIn, telegramScene } from "../../../test/support/telegram.ts";
import { type Part, textPart } from "../../core/message.ts";
import type { Outbound } from "../../ports/platform.ts";
import { createOutbound, createPlatformSignal } from "../../testing/platform-scene.ts";
import { checkToken } from "./check-token.ts";
import { loadGrammy } from "./load-grammy.ts";
import { telegram } from "./platform.ts";

function withFiles(
  chat: number,
  words: string,
  files: readonly { readonly bytes: Uint8Array; readonly mimeType?: string; readonly name?: string }[],
  more: Partial<Outbound> = {},
): Outbound {
  const blobs = new Map<string, Uint8Array>();
  const parts = files.map(({ bytes, mimeType = "image/png", name }): Part => {
    const blob = createHash("sha256").update(bytes).digest("hex");
    blobs.set(blob, bytes);
    const type = mimeType.startsWith("image/") ? "image" : "file";
    return { type, blob, mimeType, size: bytes.length, ...(name !== undefined && { name }) };
  });
  const said = words === "" ? [] : [textPart(words)];
  return {
    ...createOutbound(placeIn(chat), ""),
    parts: [...said, ...parts],
    blob: async (hash) => blobs.get(hash),
    ...more,
  };
}

const bytes = (first: number, length = 3): Uint8Array => new Uint8Array(length).fill(first);

describe("a text", () => {
  it("is formatted, without link previews", async () => {
    const { fake, platform, dm } = await telegramScene();
    await platform.send(
      createOutbound(placeIn(dm), "**bold** <tag> https://x.example"),
      createPlatformSignal(),
    );
    expect(await fake.messages(dm)).toMatchObject([
      { text: "bold <tag> https://x.example", html: "<b>bold</b> &lt;tag&gt; https://x.example" },
    ]);
    const [call] = await fake.calls("sendMessage");
    expect(call?.payload.link_preview_options).toEqual({ is_disabled: true });
  });

  it("is sent as plain text if Telegram rejects its format", async () => {
    const { fake, platform, dm } = await telegramScene();
    const description = "Bad Request: can't parse entities: Unsupported start tag";
    await fake.failNext("sendMessage", { kind: "error", code: 400, description });
    expect(
      await platform.send(createOutbound(placeIn(dm), "**bold**"), createPlatformSignal()),
    ).toMatchObject({ state: "sent" });
    const [message] = await fake.messages(dm);
    expect(message?.text).toBe("**bold**");
    expect(message?.html).toBeUndefined();
  });

  it("of marks only is sent as it is, and an empty one is refused", async () => {
    const { fake, platform, dm } = await telegramScene();
    for (const words of ["```\n```", "# "]) {
      expect(await platform.send(createOutbound(placeIn(dm), words), createPlatformSignal())).toMatchObject({
        state: "sent",
      });
    }
    expect((await fake.messages(dm)).map((message) => message.text)).toEqual(["```\n```", "#"]);
    expect(await platform.send(createOutbound(placeIn(dm), " \n"), createPlatformSignal())).toMatchObject({
      state: "refused",
    });
  });

  it("makes no sound if it is quiet", async () => {
    const { fake, platform, dm } = await telegramScene();
    await platform.send(createOutbound(placeIn(dm), "still at it", { quiet: true }), createPlatformSignal());
    await platform.send(createOutbound(placeIn(dm), "done"), createPlatformSignal());
    const calls = await fake.calls("sendMessage");
    expect(calls.map(({ payload }) => payload.disable_notification)).toEqual([true, undefined]);
  });

  it("is a reply to the input, also if that was deleted, and not if replies are off", async () => {
    const { fake, platform, dm, ann } = await telegramScene();
    const said = await fake.say(dm, ann, "hello");
    for (const replyTo of [String(said), "999", "callback:press1"]) {
      expect(
        await platform.send(createOutbound(placeIn(dm), "yes", { replyTo }), createPlatformSignal()),
      ).toMatchObject({
        state: "sent",
      });
    }
    const quiet = telegram({ token: fake.token, apiRoot: fake.url, replyTo: "off" });
    await quiet.send(createOutbound(placeIn(dm), "yes", { replyTo: String(said) }), createPlatformSignal());
    const answers = (await fake.messages(dm)).slice(1);
    expect(answers.map(({ replyTo }) => replyTo)).toEqual([said, undefined, undefined, undefined]);
  });

  it("is a reply with every message in mode all, also with a file after a long text", async () => {
    const { fake, platform, dm, ann } = await telegramScene({ replyTo: "all" });
    const said = await fake.say(dm, ann, "hello");
    const file = { type: "file", blob: "a", mimeType: "text/plain", size: 1, name: "a.txt" } as const;
    const out = createOutbound(placeIn(dm), "long ".repeat(500), { replyTo: String(said) });
    const blob = async () => new Uint8Array([1]);
    await platform.send({ ...out, parts: [...out.parts, file], blob }, createPlatformSignal());
    const answers = (await fake.messages(dm)).slice(1);
    expect(answers.map(({ replyTo }) => replyTo)).toEqual([said, said]);
  });

  it("goes to its topic, or to the chat if the topic was deleted", async () => {
    const { fake, platform } = await telegramScene();
    const forum = await fake.openGroup({ title: "Riders", forum: true });
    const topic = await fake.openTopic(forum, "Horses");
    const place = placeIn(forum, { threadId: String(topic) });
    await platform.send(createOutbound(place, "there"), createPlatformSignal());
    await platform.sendTyping?.(place, createPlatformSignal());
    await fake.deleteTopic(forum, topic);
    expect(await platform.send(createOutbound(place, "here"), createPlatformSignal())).toMatchObject({
      state: "sent",
    });
    expect((await fake.messages(forum)).map((message) => [message.text, message.topic])).toEqual([
      ["there", topic],
      ["here", undefined],
    ]);
    const [typing] = await fake.calls("sendChatAction");
    expect(typing?.payload).toMatchObject({ chat_id: forum, message_thread_id: topic, action: "typing" });
  });
});

describe("files", () => {
  it("are sent with their caption in one message: pictures as photos, others as documents", async () => {
    const { fake, platform, dm } = await telegramScene();
    await platform.send(withFiles(dm, "**a picture**", [{ bytes: bytes(1) }]), createPlatformSignal());
    const named = { bytes: bytes(2), mimeType: "text/csv", name: 'a/b; "c".csv' };
    await platform.send(withFiles(dm, "", [named]), createPlatformSignal());
    await platform.send(
      withFiles(dm, "", [{ bytes: bytes(3), mimeType: "image/svg+xml", name: "d.svg" }]),
      createPlatformSignal(),
    );
    const messages = await fake.messages(dm);
    expect(messages).toMatchObject([
      { text: "a picture", files: [{ kind: "photo", size: 3 }] },
      { text: "", files: [{ kind: "document", name: "b; _c_.csv" }] },
      { text: "", files: [{ kind: "document", name: "d.svg" }] },
    ]);
    expect(await fake.file(messages[0]?.files[0]?.id ?? "")).toEqual(bytes(1));
  });

  it("that Telegram rejects as a photo are sent as a document", async () => {
    const { fake, platform, dm } = await telegramScene();
    await platform.send(
      withFiles(dm, "", [{ bytes: bytes(1, 10 * 1024 * 1024 + 1) }]),
      createPlatformSignal(),
    );
    await fake.failNext("sendPhoto", {
      kind: "error",
      code: 400,
      description: "Bad Request: PHOTO_INVALID_DIMENSIONS",
    });
    await platform.send(withFiles(dm, "wide", [{ bytes: bytes(2) }]), createPlatformSignal());
    expect((await fake.messages(dm)).map(({ files }) => files[0]?.kind)).toEqual(["document", "document"]);
  });

  it("are sent as one album if there are several", async () => {
    const { fake, platform, dm } = await telegramScene();
    await platform.send(
      withFiles(
        dm,
        "three",
        [1, 2, 3].map((n) => ({ bytes: bytes(n) })),
      ),
      createPlatformSignal(),
    );
    const messages = await fake.messages(dm);
    expect(messages.map((message) => [message.text, message.files[0]?.kind])).toEqual([
      ["three", "photo"],
      ["", "photo"],
      ["", "photo"],
    ]);
    expect(new Set(messages.map(({ album }) => album)).size).toBe(1);
    expect(await fake.calls()).toHaveLength(1);
    await platform.send(
      withFiles(dm, "", [{ bytes: bytes(1) }, { bytes: bytes(2), mimeType: "text/csv" }]),
      createPlatformSignal(),
    );
    expect((await fake.messages(dm)).slice(3).map(({ files }) => files[0]?.kind)).toEqual([
      "document",
      "document",
    ]);
  });

  it("with a long text follow it, and a retry continues after the sent part", async () => {
    const { fake, platform, dm } = await telegramScene();
    const long = "word ".repeat(300).trim();
    const out = withFiles(dm, long, [{ bytes: bytes(1) }], { buttons: [[{ label: "Yes", line: "/yes" }]] });
    await fake.failNext("sendPhoto", { kind: "badGateway" });
    // After a crash, a part may have been sent.
    expect(await platform.send(out, createPlatformSignal())).toMatchObject({ state: "unknown" });
    expect(await platform.send(out, createPlatformSignal())).toEqual({ state: "sent", messageId: "1" });
    expect((await fake.messages(dm)).map((message) => [message.text, message.files.length])).toEqual([
      [long, 0],
      ["", 1],
    ]);
    // After a complete delivery, the same nonce sends everything again.
    expect(await platform.send(out, createPlatformSignal())).toEqual({ state: "sent", messageId: "3" });
  });

  it("with an unknown outcome are sent again with their text", async () => {
    const { fake, platform, dm } = await telegramScene();
    const out = withFiles(dm, "word ".repeat(300).trim(), [{ bytes: bytes(1) }]);
    await fake.failNext("sendPhoto", { kind: "dropAfter" });
    expect(await platform.send(out, createPlatformSignal())).toMatchObject({ state: "unknown" });
    // The gateway marks repeated messages, and the text contains the mark.
    await platform.send(out, createPlatformSignal());
    expect((await fake.messages(dm)).map(({ files }) => files.length)).toEqual([0, 1, 0, 1]);
  });

  it("that are no longer stored are replaced by a text", async () => {
    const { fake, platform, dm } = await telegramScene();
    const out = withFiles(dm, "here", [{ bytes: bytes(1), name: "a.png" }], { blob: async () => undefined });
    await platform.send(out, createPlatformSignal());
    expect((await fake.messages(dm))[0]?.text).toBe("here\n\n(The file a.png is no longer stored.)");
  });
});

describe("the outcome of a message", () => {
  it.each([
    [403, "Forbidden: bot was blocked by the user", "refused", "This person has blocked the bot."],
    [403, "Forbidden: bot was kicked from the group chat", "refused", "The bot is no longer in this chat."],
    [
      400,
      "Bad Request: chat not found",
      "refused",
      "Telegram knows no such chat, or the bot has never been in it.",
    ],
    [400, "Bad Request: something else", "refused", "Telegram said: Bad Request: something else"],
    [502, "Bad Gateway", "not_sent", "Telegram said: Bad Gateway"],
    [401, "Unauthorized", "not_sent", "Telegram does not accept the bot's token."],
  ])("%i %s is %s", async (code, description, state, reason) => {
    const { fake, platform, dm } = await telegramScene();
    await fake.failNext("sendMessage", { kind: "error", code, description });
    expect(await platform.send(createOutbound(placeIn(dm), "hello"), createPlatformSignal())).toEqual({
      state,
      reason,
    });
    expect(await fake.messages(dm)).toEqual([]);
  });

  it("an error about one message differs from an outage of Telegram, also after a part was sent", async () => {
    const { fake, platform, dm } = await telegramScene();
    const broken = { kind: "error", code: 500, description: "Internal Server Error" } as const;
    const reason = "Telegram said: Internal Server Error";
    await fake.failNext("sendMessage", broken);
    expect(await platform.send(createOutbound(placeIn(dm), "hello"), createPlatformSignal())).toEqual({
      state: "not_sent",
      cause: "message",
      reason,
    });
    await fake.failNext("sendPhoto", broken);
    const long = withFiles(dm, "word ".repeat(300).trim(), [{ bytes: bytes(1) }]);
    expect(await platform.send(long, createPlatformSignal())).toEqual({
      state: "unknown",
      cause: "message",
      reason,
    });
    await fake.failNext("sendMessage", { kind: "badGateway" });
    const down = await platform.send(createOutbound(placeIn(dm), "hello"), createPlatformSignal());
    expect(down).toMatchObject({ state: "not_sent" });
    expect(down).not.toHaveProperty("cause");
  });

  it("a flood limit asks to wait", async () => {
    const { fake, platform, dm } = await telegramScene();
    await fake.setFlood(5000);
    await platform.send(createOutbound(placeIn(dm), "one"), createPlatformSignal());
    const second = await platform.send(createOutbound(placeIn(dm), "two"), createPlatformSignal());
    expect(second).toMatchObject({ state: "not_sent", retryAfterMs: 5000 });
  });

  it("a connection that breaks before or after the effect has an unknown outcome", async () => {
    const { fake, platform, dm } = await telegramScene();
    for (const kind of ["cut", "dropAfter"] as const) {
      await fake.failNext("sendMessage", { kind });
      expect(await platform.send(createOutbound(placeIn(dm), kind), createPlatformSignal())).toMatchObject({
        state: "unknown",
      });
    }
    expect((await fake.messages(dm)).map((message) => message.text)).toEqual(["dropAfter"]);
  });

  it("an unknown host means not sent, and the reason does not contain it", async () => {
    const platform = telegram({ token: "42:secret", apiRoot: "http://nowhere.invalid" });
    const sent = await platform.send(createOutbound(placeIn(7), "hello"), createPlatformSignal());
    expect(sent).toMatchObject({ state: "not_sent" });
    expect(JSON.stringify(sent)).not.toContain("secret");
  });
});

describe("a message that was sent", () => {
  it("is replaced with its buttons, and an edit without a change is no failure", async () => {
    const { fake, platform, dm } = await telegramScene();
    const draft = createOutbound(placeIn(dm), "thinking", { buttons: [[{ label: "Stop", line: "/stop" }]] });
    await platform.send(draft, createPlatformSignal());
    const done = { ...draft, parts: [textPart("**done**")], buttons: [] };
    for (let time = 0; time < 2; time += 1) {
      expect(await platform.edit?.(done, "1", createPlatformSignal())).toEqual({
        state: "sent",
        messageId: "1",
      });
    }
    expect(await fake.messages(dm)).toMatchObject([{ text: "done", edits: ["thinking"], buttons: [] }]);
  });

  it("cannot be replaced if it was deleted or is not ours, and its format may be rejected", async () => {
    const { fake, platform, dm, ann } = await telegramScene();
    const theirs = await fake.say(dm, ann, "hello");
    const out = createOutbound(placeIn(dm), "**new**");
    expect(await platform.edit?.(out, String(theirs), createPlatformSignal())).toEqual({ state: "gone" });
    expect(await platform.edit?.(out, "callback:1", createPlatformSignal())).toEqual({ state: "gone" });
    const sent = await platform.send(createOutbound(placeIn(dm), "old"), createPlatformSignal());
    const id = sent.state === "sent" ? sent.messageId : "";
    const description = "Bad Request: can't parse entities";
    await fake.failNext("editMessageText", { kind: "error", code: 400, description });
    expect(await platform.edit?.(out, id, createPlatformSignal())).toEqual({ state: "sent", messageId: id });
    expect((await fake.messages(dm)).at(-1)?.text).toBe("**new**");
    await fake.remove(dm, Number(id));
    expect(await platform.edit?.(out, id, createPlatformSignal())).toEqual({ state: "gone" });
  });

  it("keeps its file when its caption is replaced", async () => {
    const { fake, platform, dm } = await telegramScene();
    const out = withFiles(dm, "old", [{ bytes: bytes(1) }]);
    await platform.send(out, createPlatformSignal());
    const changed = { ...out, parts: [textPart("new"), ...out.parts.slice(1)] };
    expect(await platform.edit?.(changed, "1", createPlatformSignal())).toEqual({
      state: "sent",
      messageId: "1",
    });
    expect(await fake.messages(dm)).toMatchObject([{ text: "new", files: [{ kind: "photo" }] }]);
  });
});

describe("the bot", () => {
  it("publishes its commands, as far as Telegram accepts them", async () => {
    const { fake, platform } = await telegramScene();
    await platform.setMenu?.(
      [
        { name: "new", summary: "Start a new session" },
        { name: "set-home", summary: "No such name there" },
        { name: "long", summary: "x".repeat(400) },
      ],
      createPlatformSignal(),
    );
    expect((await fake.commands()).map(({ command, description }) => [command, description.length])).toEqual([
      ["new", 19],
      ["long", 256],
    ]);
  });

  it("updates drafts as often as Telegram allows", () => {
    const platform = telegram({ token: "42:secret" });
    expect([placeIn(7), placeIn(-7)].map((place) => platform.getDraftIntervalMs?.(place))).toEqual([
      1100, 3100,
    ]);
  });

  it("gets its id from the token, without a request", () => {
    expect(telegram({ token: "123:abc" }).account).toBe("123");
    for (const token of ["", "abc", "123", "123:", "123:a b", " 123:abc"]) {
      expect(() => telegram({ token })).toThrow(expect.objectContaining({ code: "invalid_config" }));
    }
    expect(() => telegram({ token: "1:secret", apiRoot: "nowhere" })).toThrow(/must begin with https/);
  });

  it("returns its name when the token is checked, or the reason of the failure", async () => {
    const { fake } = await telegramScene();
    expect(await checkToken({ token: fake.token, apiRoot: `${fake.url}/` })).toEqual({
      id: "42",
      username: "fake_bot",
    });
    await expect(checkToken({ token: "42:wrong", apiRoot: fake.url })).rejects.toMatchObject({
      code: "platform_refused",
    });
    await fake.failNext("getMe", { kind: "badGateway" });
    await expect(checkToken({ token: fake.token, apiRoot: fake.url })).rejects.toMatchObject({
      code: "platform_down",
    });
  });

  it("names the package to install if its library is missing", () => {
    const missing = Object.assign(new Error("Cannot find module 'grammy'"), { code: "MODULE_NOT_FOUND" });
    const load = (): never => {
      throw missing;
    };
    expect(() => loadGrammy(load)).toThrow(
      expect.objectContaining({
        code: "missing_package",
        message: expect.stringContaining("npm install grammy"),
      }),
    );
  });
});
