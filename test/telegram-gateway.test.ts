import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { isMarkedAsRepeated } from "../src/core/repetition.ts";
import type { ChatMessage } from "../src/testing/fake-telegram/index.ts";
import { cli } from "./support/cli.ts";
import { look } from "./support/database.ts";
import { schedule } from "./support/schedule.ts";
import { digest } from "./telegram-gateway/describing-agent.ts";
import type { TelegramChildLine, TelegramChildOptions } from "./telegram-gateway/gateway-process.ts";
import {
  kill,
  type OtherSide,
  type RunningGateway,
  type Scene,
  sceneOf,
  shownIn,
  startTelegram,
  textsIn,
} from "./telegram-gateway/scene.ts";

const CODE = Array.from({ length: 160 }, (_, at) => `code ${at} = "a < b && c > ${at}";`);
const PROSE = Array.from(
  { length: 90 },
  (_, at) => `Line ${at} has **bold** words, a <tag> and some more of them.`,
);
const LONG = [...PROSE.slice(0, 45), "```ts", ...CODE, "```", ...PROSE.slice(45)].join("\n");

/** The answers of the script; other texts are repeated. */
const ANSWERS = [
  { to: "^hold", say: [{ approve: { title: "Go on?" }, denied: "not done" }, "let go"] },
  { to: "^slow", say: [{ wait_ms: 500 }, "took a while"] },
  { to: "^stream more", say: [{ repeat: 65, say: ["word ", { wait_ms: 100 }] }, "and the end"] },
  { to: "^stream", say: [{ repeat: 35, say: ["word ", { wait_ms: 100 }] }, "and the end"] },
  { to: "^long", say: LONG },
  {
    to: "^grow",
    say: [{ wait_ms: 300 }, LONG.slice(0, 3000), { wait_ms: 1500 }, LONG.slice(3000), { wait_ms: 1500 }],
  },
  { to: "^markdown", say: "**bold**, `a<b` and [a link](https://example.org)" },
  { to: "", say: ["You said: ", { echo: true }] },
];

/** The threads of the store take half of a start; `telegram-load.test.ts` and `gateway-command.test.ts` run with them. */
const GATEWAY: Partial<TelegramChildOptions> = { storeMode: schedule("in-process", "workers") };

let telegram: OtherSide;

beforeAll(async () => {
  telegram = await startTelegram(21);
  return () => telegram.stop();
});

/** A bot and a home for one test only. */
function ownScene({ onTestFinished }: TestContext): Scene {
  return sceneOf(telegram, onTestFinished, GATEWAY);
}

/** A gateway that several tests share, each in its own chats. */
async function shared(agent: NonNullable<TelegramChildOptions["agent"]>) {
  const tidy: (() => Promise<void>)[] = [];
  const scene = sceneOf(telegram, (one) => void tidy.push(one), GATEWAY);
  await scene.start({ agent }).ready();
  return { scene, stop: async () => void (await Promise.all(tidy.map((one) => one()))) };
}

let lastUser = 100;

/** A new person, and their direct chat with the bot. */
async function somebody({ people }: Pick<Scene, "people">, firstName = "Ann") {
  lastUser += 1;
  const user = lastUser;
  await people.addUser({ id: user, firstName });
  const chat = await people.openDm(user);
  return {
    user,
    chat,
    say: (text: string, options = {}) => people.say(chat, user, text, options),
    texts: () => textsIn(people, chat),
    shown: () => shownIn(people, chat),
    /** Sends the text, and returns the bot's next message. */
    async ask(text: string, options = {}): Promise<ChatMessage> {
      const before = (await shownIn(people, chat)).length;
      await people.say(chat, user, text, options);
      await people.untilAnswered(chat, before + 1);
      const answer = (await shownIn(people, chat))[before];
      if (answer === undefined) throw new Error("the answer is gone again");
      return answer;
    },
  };
}

describe("a gateway on Telegram", () => {
  let scene: Scene;

  beforeAll(async () => {
    const started = await shared({ answers: ANSWERS });
    scene = started.scene;
    return started.stop;
  });

  it("answers in a direct chat", async () => {
    const ann = await somebody(scene);
    expect(await ann.ask("hello")).toMatchObject({ text: "You said: hello", buttons: [] });
    expect(await ann.texts()).toEqual(["You said: hello"]);
  });

  it("answers in a group only messages that mention it, as a reply", async () => {
    const { people, username } = scene;
    const { user } = await somebody(scene);
    const group = await people.openGroup({ title: "Team" });
    await people.say(group, user, "hello everyone");
    const asked = await people.say(group, user, `@${username} hello`);
    await people.untilAnswered(group, 1);
    const answer = await people.untilShown(group, "hello");
    expect(answer).toMatchObject({ text: "You said: hello", replyTo: asked });
    await people.say(group, user, "what now?", { replyTo: answer.id });
    await people.untilShown(group, "what now?");
    expect(await textsIn(people, group)).toHaveLength(2);
  });

  it("answers posts in a channel", async () => {
    const { people } = scene;
    const channel = await people.openChannel("News");
    await people.say(channel, null, "what is new?");
    expect(await people.untilShown(channel, "what is new?")).toMatchObject({
      text: "You said: what is new?",
    });
  });

  it("offers its commands in the menu, except those for the owner", async () => {
    const { people } = scene;
    await people.untilCalled("setMyCommands", 1);
    const names = (await people.commands()).map(({ command }) => command);
    expect(names).toEqual(expect.arrayContaining(["new", "resume", "status", "help", "stop"]));
    expect(names).not.toContain("sethome");
    expect(names).not.toContain("quit");
  });

  it("shows the typing indicator", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    await ann.ask("slow");
    const typing = (await people.calls("sendChatAction")).filter(
      ({ payload }) => payload.chat_id === ann.chat,
    );
    expect(typing[0]?.payload).toMatchObject({ action: "typing" });
    const [answer] = await ann.shown();
    expect(typing[0]?.at).toBeLessThanOrEqual(answer?.at ?? 0);
  });

  it("answers the edited text if the edit arrives before the turn", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const question = await ann.ask("hold on");
    const waiting = await ann.say("first wording");
    await people.edit(ann.chat, waiting, "second wording");
    await people.untilIdle();
    await people.press(ann.chat, question.id, ann.user, "Once");
    await people.untilShown(ann.chat, "second wording");
    expect((await ann.texts()).slice(1)).toEqual([
      expect.stringContaining("Allowed this once"),
      "let go",
      "You said: second wording",
    ]);
  });

  it("ignores an edit of a message that was answered", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const said = await ann.say("one");
    await people.untilShown(ann.chat, "one");
    await people.edit(ann.chat, said, "another one");
    await ann.ask("two");
    expect((await ann.shown()).map(({ text, edits }) => [text, ...edits])).toEqual([
      ["You said: one"],
      ["You said: two"],
    ]);
  });

  it("continues when the person who asked presses Once", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const question = await ann.ask("hold this");
    expect(question.text).toContain("May I? Go on?");
    // The request of the script has no pattern, so it cannot be allowed permanently.
    expect(question.buttons.flat().map(({ label }) => label)).toEqual(["Once", "No"]);
    const press = await people.press(ann.chat, question.id, ann.user, "Once");
    await people.untilShown(ann.chat, "let go");
    expect((await people.pressAnswers()).map((answer) => answer.press)).toContain(press);
  });

  it("does not continue when that person presses No", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const question = await ann.ask("hold this");
    await people.press(ann.chat, question.id, ann.user, "No");
    await people.untilShown(ann.chat, "not done");
    expect((await ann.texts()).join("\n")).not.toContain("let go");
  });

  it("refuses a press by another person in a group, and still accepts one by the person who asked", async () => {
    const { people, username } = scene;
    const ann = await somebody(scene);
    const bob = await somebody(scene, "Bob");
    const group = await people.openGroup({ title: "Team" });
    await people.say(group, ann.user, `@${username} hold this`);
    const question = await people.untilShown(group, "May I?");
    await people.press(group, question.id, bob.user, "Once");
    await people.untilAnswered(group, 2);
    const [, refusal] = await shownIn(people, group);
    expect(refusal?.text).not.toMatch(/Allowed/);
    await people.press(group, question.id, ann.user, "Once");
    await people.untilShown(group, "let go");
    expect((await textsIn(people, group)).filter((text) => /Allowed/.test(text))).toHaveLength(1);
  });

  it("answers other people during a slow turn, in another chat and in the same group", async () => {
    const { people, username } = scene;
    const [ann, bob] = [await somebody(scene), await somebody(scene, "Bob")];
    const group = await people.openGroup({ title: "Team" });
    await people.say(group, ann.user, `@${username} hold everything`);
    const question = await people.untilShown(group, "May I?");
    expect((await bob.ask("hello")).text).toBe("You said: hello");
    await people.say(group, bob.user, `@${username} and here?`);
    await people.untilShown(group, "and here?");
    await people.press(group, question.id, ann.user, "Once");
    await people.untilShown(group, "let go");
  });

  it("formats an answer, and sends it as plain text if Telegram rejects the format", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const formatted = await ann.ask("markdown");
    expect(formatted.text).toBe("bold, a<b and a link");
    expect(formatted.html).toBe(
      '<b>bold</b>, <code>a&lt;b</code> and <a href="https://example.org">a link</a>',
    );
    await people.failNext("sendMessage", {
      kind: "error",
      code: 400,
      description: "Bad Request: can't parse entities: unsupported start tag",
    });
    const plain = await ann.ask("markdown");
    expect(plain).toMatchObject({ text: "**bold**, `a<b` and [a link](https://example.org)" });
    expect(plain.html).toBeUndefined();
  });

  it("exports a session as a document", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    await ann.ask("remember this");
    const { files } = await ann.ask("/export");
    expect(files).toEqual([
      expect.objectContaining({ kind: "document", name: expect.stringMatching(/\.md$/) }),
    ]);
    const bytes = await people.file(files[0]?.id ?? "");
    expect(Buffer.from(bytes ?? []).toString()).toContain("You said: remember this");
  });

  it("waits as long as Telegram requests, then sends once", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    await people.failNext("sendMessage", tooMany(2));
    const before = Date.now();
    const answer = await ann.ask("hello");
    expect(answer.at - before).toBeGreaterThanOrEqual(2000);
    await ann.ask("still there?");
    expect(await ann.texts()).toEqual(["You said: hello", "You said: still there?"]);
  });

  it.each([
    ["is broken behind a gateway", { kind: "badGateway" }],
    ["fails", { kind: "error", code: 500, description: "Internal Server Error" }],
  ] as const)("sends once when Telegram %s", async (_, fault) => {
    const { people } = scene;
    const ann = await somebody(scene);
    await people.failNext("sendMessage", fault);
    await ann.ask("hello");
    await ann.ask("still there?");
    expect(await ann.texts()).toEqual(["You said: hello", "You said: still there?"]);
  });

  it("continues to receive after failures of Telegram", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    await people.failNext("getUpdates", { kind: "badGateway" });
    await people.failNext("getUpdates", { kind: "cut" });
    expect((await ann.ask("hello")).text).toBe("You said: hello");
    expect((await ann.ask("again")).text).toBe("You said: again");
  });

  it("marks a repeated message when the connection broke after sending", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    await people.failNext("sendMessage", { kind: "dropAfter" });
    await ann.say("hello");
    await people.untilAnswered(ann.chat, 2);
    const texts = await ann.texts();
    expect(texts.map(isMarkedAsRepeated)).toEqual([false, true]);
    expect(texts.every((text) => text.endsWith("You said: hello"))).toBe(true);
  });
});

describe("input from Telegram to the agent", () => {
  let scene: Scene;

  beforeAll(async () => {
    const started = await shared("describing");
    scene = started.scene;
    return started.stop;
  });

  it("is separate for each topic, and the answers are sent to that topic", async () => {
    const { people, username } = scene;
    const { user } = await somebody(scene);
    const forum = await people.openGroup({ title: "Team", forum: true });
    const [red, blue] = [await people.openTopic(forum, "Red"), await people.openTopic(forum, "Blue")];
    for (const [topic, words] of [
      [red, "red one"],
      [blue, "blue one"],
      [red, "red two"],
    ] as const) {
      await people.say(forum, user, `@${username} ${words}`, { topic });
      await people.untilShown(forum, words);
    }
    const shown = (await shownIn(people, forum)).map(({ topic, text }) => ({ topic, text }));
    expect(shown).toEqual([
      { topic: red, text: "message 1:\ntext red one" },
      { topic: blue, text: "message 1:\ntext blue one" },
      { topic: red, text: "message 2:\ntext red two" },
    ]);
  });

  it("contains the quoted message of a reply", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const first = await ann.say("the plan for May");
    await people.untilAnswered(ann.chat, 1);
    await ann.ask("something else");
    const answer = await ann.ask("what about this?", { replyTo: first });
    expect(answer.text).toBe("message 3:\ntext > the plan for May\ntext what about this?");
  });

  it("contains a photo as an image", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const bytes = new Uint8Array(3000).fill(7);
    await people.sendPhoto(ann.chat, ann.user, bytes, { caption: "look" });
    await people.untilAnswered(ann.chat, 1);
    expect(await ann.texts()).toEqual([`message 1:\ntext look\nimage image/jpeg ${digest(bytes)}`]);
  });

  it("contains a document as a file with its name", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const bytes = new TextEncoder().encode("a;b\n1;2\n");
    const options = { name: "table.csv", mimeType: "text/csv" };
    await people.sendFile(ann.chat, ann.user, bytes, options);
    await people.untilAnswered(ann.chat, 1);
    expect(await ann.texts()).toEqual([`message 1:\nfile text/csv called table.csv ${digest(bytes)}`]);
  });

  it("contains a voice message as a file", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const bytes = new Uint8Array([79, 103, 103, 83, 1]);
    await people.sendFile(ann.chat, ann.user, bytes, { kind: "voice", mimeType: "audio/ogg" });
    await people.untilAnswered(ann.chat, 1);
    expect(await ann.texts()).toEqual([`message 1:\nfile audio/ogg called voice.ogg ${digest(bytes)}`]);
  });

  it("contains an album as one message, which gets one answer", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    const photos = [1, 2, 3].map((fill) => ({ bytes: new Uint8Array(100).fill(fill) }));
    await people.sendAlbum(
      ann.chat,
      ann.user,
      photos.map((photo, at) => (at === 0 ? { ...photo, caption: "the trip" } : photo)),
    );
    await people.untilAnswered(ann.chat, 1);
    await ann.ask("nice?");
    expect(await ann.texts()).toEqual([
      ["message 1:", "text the trip", ...photos.map(({ bytes }) => `image image/jpeg ${digest(bytes)}`)].join(
        "\n",
      ),
      "message 2:\ntext nice?",
    ]);
  });

  it("continues an earlier session when its button is pressed", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    await ann.ask("about the garden");
    await ann.ask("/new");
    await ann.ask("about the house");
    const list = await ann.ask("/resume");
    const labels = list.buttons.flat().map(({ label }) => label);
    expect(labels).toEqual(["about the garden"]);
    await people.press(ann.chat, list.id, ann.user, "about the garden");
    await people.untilShown(ann.chat, "Back in");
    expect((await ann.ask("and the trees?")).text).toBe("message 2:\ntext and the trees?");
  });
});

describe.concurrent("a gateway on Telegram that streams its answers", () => {
  let scene: Scene;

  beforeAll(async () => {
    const started = await shared({ answers: ANSWERS });
    scene = started.scene;
    await scene.people.setFlood(1000);
    return started.stop;
  });

  it("respects the flood limit of the chat, and ends with the whole answer in the same message", async () => {
    const { people } = scene;
    const ann = await somebody(scene);
    await ann.say("stream it");
    await people.untilShown(ann.chat, "and the end");
    const [answer, ...more] = await ann.shown();
    expect(more).toEqual([]);
    const whole = `${"word ".repeat(35)}and the end`;
    expect(answer?.text).toBe(whole);
    expect(answer?.edits.length).toBeGreaterThanOrEqual(2);
    for (const draft of answer?.edits ?? []) {
      expect(draft).toMatch(/ …$/);
      expect(whole.startsWith(draft.slice(0, -2).trimEnd())).toBe(true);
    }
    const calls = (await people.calls()).filter(
      ({ method, payload }) => payload.chat_id === ann.chat && method !== "sendChatAction",
    );
    // The final edit may come too soon after the last draft for the chat's limit; then it is sent later.
    const early = calls.filter(({ refused }) => refused !== undefined);
    expect(early.length).toBeLessThanOrEqual(1);
    expect(early.every((call) => call === calls.at(-2))).toBe(true);
  });

  it("shows no draft above an answer that is still pending", async (test) => {
    const own = ownScene(test);
    const { people } = own;
    await own.start({ agent: { answers: ANSWERS } }).ready();
    const ann = await somebody(own);
    await people.failNext("sendMessage", tooMany(3));
    await ann.say("first");
    await ann.say("stream it");
    await people.untilShown(ann.chat, "and the end");
    expect(await ann.texts()).toEqual(["You said: first", expect.stringMatching(/^word .* and the end$/)]);
  });

  it.for([
    ["starts to show", "sendMessage", 0],
    ["shows more of", "editMessageText", 1],
  ] as const)(
    "waits as long as Telegram requests before it %s an answer",
    async ([, method, shown], test) => {
      const own = ownScene(test);
      const { people } = own;
      await own.start({ agent: { answers: ANSWERS } }).ready();
      const ann = await somebody(own);
      await people.failNext(method, tooMany(2));
      const before = Date.now();
      await ann.say("stream more");
      await people.untilShown(ann.chat, "and the end");
      const [answer] = await ann.shown();
      const calls = [...(await people.calls("sendMessage")), ...(await people.calls("editMessageText"))];
      // The first second of an answer is not shown, and each draft stays for one second.
      expect((calls[shown]?.at ?? 0) - before).toBeGreaterThanOrEqual(3000 + shown * 1000);
      expect(answer?.edits.length).toBeGreaterThanOrEqual(2);
    },
  );

  it.each([
    ["all at once", "long please"],
    ["while it is streamed", "grow please"],
  ])(
    "sends ten thousand characters that arrive %s in order, split into correctly formatted messages",
    async (_, asked) => {
      const { people } = scene;
      const ann = await somebody(scene);
      await ann.say(asked);
      await people.untilShown(ann.chat, "Line 89 ");
      const shown = await ann.shown();
      expect(LONG.length).toBeGreaterThan(10_000);
      expect(shown.length).toBeGreaterThanOrEqual(3);
      const lines = shown.flatMap(({ text }) => text.split("\n"));
      expect(lines).toEqual([
        ...PROSE.slice(0, 45).map((line) => line.replaceAll("**", "")),
        ...CODE,
        ...PROSE.slice(45).map((line) => line.replaceAll("**", "")),
      ]);
      for (const { html = "" } of shown) {
        const code = [...html.matchAll(/<pre><code class="language-ts">(.*?)<\/code><\/pre>/gs)].map(
          ([, it]) => it,
        );
        expect(code.join("\n").match(/^code \d+/gm) ?? []).toEqual(html.match(/code \d+(?= =)/g) ?? []);
      }
      const refused = (await people.calls("sendMessage")).filter(
        (call) => call.payload.chat_id === ann.chat && call.refused !== undefined,
      );
      expect(refused).toEqual([]);
    },
  );
});

describe.concurrent("a gateway on Telegram that gets a message or a signal during an answer", () => {
  it("interrupts the answer for the next message in interrupt mode", async (test) => {
    const scene = ownScene(test);
    const { people } = scene;
    await scene.start({ agent: { answers: ANSWERS }, settings: { busy: "interrupt" } }).ready();
    const ann = await somebody(scene);
    await ann.ask("hold everything");
    await ann.say("never mind");
    await people.untilShown(ann.chat, "never mind");
    expect((await ann.texts()).slice(1)).toEqual(["You said: never mind"]);
  });

  it("stops the answer at /stop, and keeps its partial text", async (test) => {
    const scene = ownScene(test);
    const { people } = scene;
    await scene.start({ agent: { answers: ANSWERS } }).ready();
    const ann = await somebody(scene);
    expect((await ann.ask("stream it")).text).toMatch(/^word .*…$/);
    await ann.say("/stop");
    await people.untilShown(ann.chat, "(stopped)");
    await people.untilShown(ann.chat, "Stopped.");
    await ann.ask("and now?");
    const texts = await ann.texts();
    expect(texts[0]).toMatch(/^word [^…]*\n\n\(stopped\)$/);
    expect(texts.at(-1)).toBe("You said: and now?");
  });

  it("keeps the partial text from before a crash when a new message stops the second attempt", async (test) => {
    const scene = ownScene(test);
    const { people, file } = scene;
    const settings = { busy: "interrupt" } as const;
    const first = scene.start({ agent: { answers: ANSWERS }, settings });
    await first.ready();
    const ann = await somebody(scene);
    const { text: seen } = await ann.ask("stream it");
    expect(seen).toMatch(/^word .*…$/);
    // The draft has grown, so the gateway knows that it was sent.
    await people.untilShown(ann.chat, seen.replace(" …", "word word"));
    await kill(first);
    const silent = [{ to: "^stream", say: [{ wait_ms: 60_000 }, "too late"] }, ...ANSWERS];
    const second = scene.start({ agent: { answers: silent }, settings });
    await second.logged(({ words, fields }) => words === "a turn started" && fields.attempt === 2);
    await ann.say("never mind");
    await people.untilShown(ann.chat, "You said: never mind");
    const [kept, ...others] = await ann.texts();
    expect(kept).toMatch(/^(word )+\n?\n?\(stopped\)$/);
    expect(kept?.length).toBeGreaterThanOrEqual(seen.length);
    expect(others).toEqual(["You said: never mind"]);
    const stored = look(file, (db) => db.prepare("select text, meta from messages order by id").all());
    expect(stored).toMatchObject([
      { text: "stream it" },
      { text: expect.stringMatching(/^(word )+$/), meta: expect.stringContaining('"interrupted":true') },
      { text: "never mind" },
      { text: "You said: never mind" },
    ]);
  });

  it("leaves pending messages to the next start on SIGTERM, and answers them one by one then", async (test) => {
    const scene = ownScene(test);
    const first = scene.start({ agent: { answers: ANSWERS } });
    await first.ready();
    const ann = await somebody(scene);
    await ann.say("slow");
    await first.logged(({ words }) => words === "a turn started");
    for (const words of ["one", "two", "three"]) await ann.say(words);
    await scene.people.untilIdle();
    first.process.kill("SIGTERM");
    expect(await first.ended).toMatchObject({ code: 0 });
    scene.start({ agent: { answers: ANSWERS } });
    await scene.people.untilShown(ann.chat, "three");
    expect(await ann.texts()).toEqual(["took a while", "You said: one", "You said: two", "You said: three"]);
  });
});

describe.concurrent("a gateway with a wrong token or a shared bot", () => {
  it("reports a wrong token without its value", async (test) => {
    const child = ownScene(test).start({ token: "4000:AAE-wrong_token_of_nobody" });
    const { fields } = await child.logged(({ words }) => words === "the platform refused the connection");
    expect(String(fields.error)).toContain("Telegram does not accept the token. Ask @BotFather");
    await kill(child);
    expect(JSON.stringify(child.lines)).not.toContain("wrong_token");
  });

  it("reports that another program receives the messages, and continues when that has ended", async (test) => {
    const [scene, other] = [ownScene(test), ownScene(test)];
    const first = scene.start();
    await first.ready();
    const second = other.start({ token: scene.token });
    const { fields } = await first.logged(({ words }) => words === "the connection failed");
    expect(String(fields.error)).toContain(
      "Another program receives this bot's messages with the same token",
    );
    await kill(second);
    const ann = await somebody(scene);
    expect((await ann.ask("hello")).text).toBe("You said: hello");
    await kill(first);
    expect(JSON.stringify([first.lines, second.lines])).not.toContain("secret_of_bot");
  });

  it("does not start while another gateway of the home runs, and names that process", async (test) => {
    const scene = ownScene(test);
    const first = scene.start();
    await first.ready();
    const { failed } = await failureOf(scene.start());
    expect(failed.code).toBe("in_use");
    expect(failed.message).toContain(
      `platform:telegram:${scene.token.split(":")[0]} (process ${first.pid} on `,
    );
    const ann = await somebody(scene);
    expect((await ann.ask("still there?")).text).toBe("You said: still there?");
  });

  it("takes over at once from a killed gateway, and answers unfinished and new messages", async (test) => {
    const scene = ownScene(test);
    const agent = { answers: ANSWERS };
    const first = scene.start({ agent });
    await first.ready();
    const ann = await somebody(scene);
    await ann.ask("one");
    await ann.say("slow one");
    await first.logged(({ words, fields }) => words === "a turn started" && Number(fields.turn) > 1);
    await kill(first);
    await ann.say("two");
    const second = scene.start({ agent });
    await scene.people.untilShown(ann.chat, "You said: two");
    expect(await ann.texts()).toEqual(["You said: one", "took a while", "You said: two"]);
    expect(second.lines).not.toContainEqual(expect.objectContaining({ failed: expect.anything() }));
  });
});

describe("a stranger on Telegram", () => {
  it("gets a code once, and gets answers after the code is approved", async (test) => {
    const scene = ownScene(test);
    const { people, home } = scene;
    await scene.start({ settings: { access: { everywhere: {}, platforms: {} } } }).ready();
    const eve = await somebody(scene, "Eve");
    const [code = ""] = /[A-Z2-9]{4}-[A-Z2-9]{4}/.exec((await eve.ask("let me in")).text) ?? [];
    expect(code).not.toBe("");
    await eve.say("hello?");
    await people.untilIdle();
    expect(await eve.texts()).toHaveLength(1);
    expect(await cli(home, "pair", "approve", code)).toMatchObject({ code: 0 });
    await people.untilShown(eve.chat, "You are let in");
    expect((await eve.ask("thank you")).text).toBe("You said: thank you");
    expect(await eve.texts()).toHaveLength(3);
  });
});

/** Telegram's request to wait. */
function tooMany(seconds: number) {
  const description = `Too Many Requests: retry after ${seconds}`;
  return { kind: "error", code: 429, description, parameters: { retry_after: seconds } } as const;
}

function failureOf(child: RunningGateway): Promise<Extract<TelegramChildLine, { failed: unknown }>> {
  return child.heard((line) => "failed" in line);
}
