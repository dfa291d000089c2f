import { describe, expect, it } from "vitest";
import { hashChat, hashSender } from "../src/core/redaction.ts";
import { expectInOrder, expectNowhere, withoutDate } from "./model-requests/expect-in-order.ts";
import {
  fullHome,
  GROUP_TOOLS,
  INSTRUCTIONS,
  JUDGE,
  MODEL,
  OWNER_TOOLS,
  PIRATE,
} from "./model-requests/full-home.ts";
import { type ReadRequest, readRequest } from "./model-requests/read-request.ts";
import { ADA, BOB, CARL, CARLS_NAME, telegramScene } from "./model-requests/telegram-scene.ts";
import { type EndpointScript, type RequestKind, recordingEndpoint } from "./support/recording-endpoint.ts";

const HOME_CHAT = "-1001234567";
const FIRST_MESSAGE = expect.stringMatching(/^\[Note: nobody has talked to you here before\..*\]$/);

/** A running gateway on Telegram, and the requests to its model. */
async function sceneFor(script: EndpointScript, redactPii: boolean | "strict" = true) {
  const endpoint = await recordingEndpoint(script);
  const at = fullHome({ url: endpoint.url, redactPii });
  const scene = await telegramScene(at);
  const program = await scene.start();
  const asked = async (kind: RequestKind, count = 1): Promise<readonly ReadRequest[]> =>
    (await endpoint.untilAsked(kind, count)).map(readRequest);
  return { ...scene, at, program, endpoint, asked };
}

describe("a request from a direct chat in Telegram", () => {
  it("contains the instructions, the source, the home channel, the folder and the tools, and the note of the first message once", async () => {
    const { ask, direct, asked } = await sceneFor({ answers: [{ say: "Welcome." }, { say: "Fine." }] });
    expect(await ask(direct, ADA, "Hello")).toBe("Welcome.");
    expect(await ask(direct, ADA, "How are you?")).toBe("Fine.");
    const [first, second, ...more] = await asked("answer", 2);
    expect(more).toEqual([]);
    expect([first?.notes, second?.notes]).toEqual([[FIRST_MESSAGE], []]);
    // The same prefix: providers can cache it.
    expect(withoutDate(second)?.system).toEqual(withoutDate(first)?.system);
    for (const one of [first, second]) {
      expect(one).toMatchObject({ model: MODEL, tools: OWNER_TOOLS });
      expect(one?.reasoning).toBeUndefined();
      expectInOrder(one ?? { system: [] }, [
        INSTRUCTIONS,
        "## Current Session Context",
        "**Source:** Telegram (DM with Ada)",
        "**User:** Ada",
        "**Connected Platforms:** local (files on this machine), telegram",
        `**Home Channels:**\n- telegram: Den (ID: ${hashChat(HOME_CHAT)})`,
        "Commands run on ",
        "Today is ",
      ]);
      expectNowhere(one, [PIRATE, JUDGE, "Barn", String(ADA), HOME_CHAT]);
    }
    expect([first?.messages, second?.messages]).toEqual([
      [{ role: "user", text: "Hello" }],
      [
        { role: "user", text: "Hello" },
        { role: "assistant", text: "Welcome." },
        { role: "user", text: "How are you?" },
      ],
    ]);
  });

  it("contains the personality, the model, the home channel and the memory set by commands, and the photo", async () => {
    const { ask, direct, asked, answerTo, fake } = await sceneFor({ answers: [{ say: "A horse." }] });
    expect(await ask(direct, ADA, "/personality pirate")).toContain("pirate");
    expect(await ask(direct, ADA, "/model rider-9")).toContain("rider-9");
    expect(await ask(direct, ADA, "/sethome")).toContain("home channel");
    await ask(direct, ADA, "/memory add owns a grey horse");
    const photo = new TextEncoder().encode("a photo of a horse");
    await answerTo(direct, () => fake.sendPhoto(direct, ADA, photo, { caption: "Who is this?" }));
    const [request] = await asked("answer");
    expect(request).toMatchObject({ model: "rider-9", tools: OWNER_TOOLS });
    const data = Buffer.from(photo).toString("base64");
    expect(request?.messages).toEqual([
      {
        role: "user",
        text: "Who is this?",
        images: [expect.stringMatching(`^data:image/\\w+;base64,${data}$`)],
      },
    ]);
    expectInOrder(request ?? { system: [] }, [
      INSTRUCTIONS,
      PIRATE,
      "**Source:** Telegram (DM with Ada)",
      // /sethome overrides the configuration.
      `**Home Channels:**\n- telegram: Ada (ID: ${hashChat(String(direct))})`,
      "Today is ",
      "## Memory",
      "- owns a grey horse",
    ]);
    expectNowhere(request, [JUDGE, "Den", String(ADA)]);
  });

  it("hashes names and ids with the home's key if redaction is strict", async () => {
    const { ask, direct, asked, at } = await sceneFor({ answers: [{ say: "Welcome." }] }, "strict");
    await ask(direct, ADA, "Hello");
    const [request] = await asked("answer");
    const ada = hashSender(String(ADA), at.key());
    expectInOrder(request ?? { system: [] }, [
      INSTRUCTIONS,
      `**Source:** Telegram (DM with ${ada})`,
      `**User ID:** ${ada}`,
      `**Home Channels:**\n- telegram: Home (ID: ${hashChat(HOME_CHAT, at.key())})`,
    ]);
    expectNowhere(request, ["Ada", String(ADA), "Den", HOME_CHAT]);
  });
});

describe("a request after the configuration changed", () => {
  it("contains the current settings: instructions, personality, privacy, home channel, tools and model", async () => {
    const { ask, direct, asked, at, endpoint, program } = await sceneFor({ answers: [{ say: "Yes." }] });
    await ask(direct, ADA, "/personality pirate");
    await ask(direct, ADA, "one");
    at.configure({
      instructions: "Answer like a lighthouse keeper.",
      personalities: { pirate: "You are a retired pirate." },
      privacy: { redact_pii: "strict" },
      model: { provider: "compatible", name: "rider-7", base_url: endpoint.url },
      tools: { owner: ["memory"] },
    });
    await program.logged(({ msg, agent }) => msg === "the agent changed" && agent === "rider-7");
    await ask(direct, ADA, "two");
    const [, second] = await asked("answer", 2);
    expect(second).toMatchObject({ model: "rider-7", tools: ["memory"] });
    const ada = hashSender(String(ADA), at.key());
    expectInOrder(second ?? { system: [] }, [
      "Answer like a lighthouse keeper.",
      "You are a retired pirate.",
      `**User ID:** ${ada}`,
      `- telegram: Home (ID: ${hashChat(HOME_CHAT, at.key())})`,
    ]);
    expectNowhere(second, [INSTRUCTIONS, PIRATE, "Ada", "Den"]);
  });
});

describe("a request from a group in Telegram", () => {
  it.each([
    [true, () => ["Ada", "Bob", hashSender(CARLS_NAME)]],
    ["strict", (key: () => Uint8Array) => [ADA, BOB, CARL].map((id) => hashSender(String(id), key()))],
  ] as const)(
    "names each speaker as privacy allows (redact_pii: %s), and offers the tools of groups",
    async (redactPii, names) => {
      const answers = [{ say: "To the first." }, { say: "To the second." }, { say: "To the third." }];
      const { ask, group, asked, at } = await sceneFor({ answers }, redactPii);
      await ask(group, ADA, "one");
      await ask(group, BOB, "two");
      await ask(group, CARL, "three");
      const requests = await asked("answer", 3);
      const [ada, bob, carl] = names(at.key);
      expect(requests[2]?.messages).toEqual([
        { role: "user", text: `[${ada}] one` },
        { role: "assistant", text: "To the first." },
        { role: "user", text: `[${bob}] two` },
        { role: "assistant", text: "To the second." },
        { role: "user", text: `[${carl}] three` },
      ]);
      for (const one of requests) {
        expect(one).toMatchObject({ model: MODEL, tools: GROUP_TOOLS });
        expectInOrder(one, [
          INSTRUCTIONS,
          "**Source:** Telegram (group: ",
          "**Users:** several people share",
        ]);
        const hidden = redactPii === "strict" ? ["Ada", "Bob", "Stable", "Den"] : [];
        expectNowhere(one, [String(ADA), String(BOB), String(CARL), String(group), CARLS_NAME, ...hidden]);
      }
    },
  );
});

describe("a request after a crash", () => {
  it("equals the request of the crashed gateway", async () => {
    const { ask, direct, asked, fake, program, start } = await sceneFor({
      answers: [{ say: "Welcome." }, { hang: true }, { say: "Here I am." }],
    });
    await ask(direct, ADA, "/personality pirate");
    await ask(direct, ADA, "Hello");
    await fake.say(direct, ADA, "Are you there?");
    await asked("answer", 2);
    program.signal("SIGKILL");
    await program.ended;
    await start();
    await fake.untilShown(direct, "Here I am.");
    const [, before, after, ...more] = await asked("answer", 3);
    expect(more).toEqual([]);
    expect(withoutDate(after)).toEqual(withoutDate(before));
    expect(after?.messages).toEqual([
      { role: "user", text: "Hello" },
      { role: "assistant", text: "Welcome." },
      { role: "user", text: "Are you there?" },
    ]);
    expectInOrder(after ?? { system: [] }, [
      INSTRUCTIONS,
      PIRATE,
      "**Source:** Telegram (DM with Ada)",
      "Today is ",
    ]);
  });
});

describe("a request in the background", () => {
  const UNPROMPTED = [INSTRUCTIONS, PIRATE, "## Current Session Context", String(ADA), HOME_CHAT];

  it("for a title contains the first exchange, without tools, instructions and context", async () => {
    const { ask, direct, asked } = await sceneFor({
      answers: [{ say: "Oats and hay." }],
      title: { say: "Feeding horses" },
    });
    await ask(direct, ADA, "What do horses eat?");
    const [title] = await asked("title");
    expect(title).toMatchObject({ kind: "title", model: MODEL, tools: [], notes: [] });
    expect(title?.messages).toEqual([
      { role: "user", text: "What do horses eat?" },
      { role: "assistant", text: "Oats and hay." },
      { role: "user", text: expect.stringMatching(/^Write a title/) },
    ]);
    expectNowhere(title, UNPROMPTED);
    await expect.poll(() => ask(direct, ADA, "/status"), { timeout: 20_000 }).toContain("Feeding horses");
  });

  it("for the memory of a session that the chat left contains its messages, the memory and only the memory tool", async () => {
    const { ask, direct, asked } = await sceneFor({
      answers: [{ say: "Oats." }, { say: "Twice." }],
      flush: [
        { calls: [{ id: "c1", name: "memory", input: { action: "add", text: "feeds the horse twice" } }] },
        { say: "" },
      ],
    });
    await ask(direct, ADA, "/memory add owns a grey horse");
    await ask(direct, ADA, "What does it eat?");
    await ask(direct, ADA, "How often?");
    await ask(direct, ADA, "/new");
    const [first, second] = await asked("flush", 2);
    expect(first).toMatchObject({ kind: "flush", model: MODEL, tools: ["memory"], notes: [] });
    expect(first?.messages).toEqual([
      { role: "user", text: "What does it eat?" },
      { role: "assistant", text: "Oats." },
      { role: "user", text: "How often?" },
      { role: "assistant", text: "Twice." },
      {
        role: "user",
        text: expect.stringMatching(
          /^The conversation above is about to be put away[\s\S]*- owns a grey horse/,
        ),
      },
    ]);
    expect(second?.messages.slice(-2)).toMatchObject([
      { role: "assistant", calls: [{ name: "memory", input: { text: "feeds the horse twice" } }] },
      { role: "tool", text: expect.stringContaining("Saved.") },
    ]);
    expectNowhere(first, UNPROMPTED);
    // The next turn contains it.
    await expect
      .poll(() => ask(direct, ADA, "/memory"), { timeout: 20_000 })
      .toContain("feeds the horse twice");
    await ask(direct, ADA, "And today?");
    const [, , third] = await asked("answer", 3);
    expectInOrder(third ?? { system: [] }, ["## Memory", "- owns a grey horse", "- feeds the horse twice"]);
    expect(third?.messages).toEqual([{ role: "user", text: "And today?" }]);
  });

  it("for a title or for the memory uses the model that the chat chose", async () => {
    const { ask, direct, asked } = await sceneFor({
      answers: [{ say: "Oats and hay." }, { say: "Twice a day." }],
      title: { say: "Feeding horses" },
      flush: [{ say: "" }],
    });
    await ask(direct, ADA, "/model rider-9");
    await ask(direct, ADA, "What do horses eat?");
    await ask(direct, ADA, "How often?");
    await asked("title");
    await ask(direct, ADA, "/new");
    const models = [...(await asked("answer", 2)), ...(await asked("title")), ...(await asked("flush"))];
    expect(models.map(({ kind, model }) => [kind, model])).toEqual([
      ["answer", "rider-9"],
      ["answer", "rider-9"],
      ["title", "rider-9"],
      ["flush", "rider-9"],
    ]);
  });

  it("for a summary of a group contains the name of each speaker", async () => {
    const answers = [{ say: "To the first." }, { say: "To the second." }, { say: "To the third." }];
    const { ask, group, asked } = await sceneFor({ answers, summary: { say: "They greeted." } });
    await ask(group, ADA, "/model gpt-4");
    const filler = "word ".repeat(700);
    await ask(group, ADA, `one ${filler}`);
    await ask(group, BOB, `two ${filler}`);
    await ask(group, ADA, `three ${filler}`);
    await ask(group, ADA, "/compress");
    const [summary] = await asked("summary");
    expect(summary?.messages.slice(0, 3)).toMatchObject([
      { role: "user", text: expect.stringMatching(/^\[Ada\] one word/) },
      { role: "assistant", text: "To the first." },
      { role: "user", text: expect.stringMatching(/^\[Bob\] two word/) },
    ]);
  });

  it("for a summary of a nearly full context window uses the chat's model, and the summary replaces the messages", async () => {
    // gpt-4 has a context window of 8192 tokens; the configured window is that of another model.
    const full = { input: 7500, output: 10 };
    const { ask, direct, asked, fake } = await sceneFor({
      answers: [{ say: "One." }, { say: "Two." }, { say: "Three.", usage: full }, { say: "Four." }],
      summary: { say: "They counted to three." },
    });
    await ask(direct, ADA, "/model gpt-4");
    await ask(direct, ADA, "first");
    await ask(direct, ADA, "word ".repeat(800));
    await ask(direct, ADA, "third");
    await fake.say(direct, ADA, "fourth");
    await fake.untilShown(direct, "Four.");
    const [summary] = await asked("summary");
    expect(summary).toMatchObject({ kind: "summary", model: "gpt-4", tools: [], notes: [] });
    expect(summary?.messages[0]).toEqual({ role: "user", text: "first" });
    expect(summary?.messages[1]).toEqual({ role: "assistant", text: "One." });
    expect(summary?.messages.at(-1)?.text).toMatch(/^Write a summary of this conversation/);
    expectNowhere(summary, UNPROMPTED);
    const fourth = (await asked("answer", 4))[3];
    expect(fourth).toMatchObject({ model: "gpt-4", tools: OWNER_TOOLS });
    expect(fourth?.messages[0]).toMatchObject({
      role: "user",
      text: expect.stringContaining("They counted to three."),
    });
    expect(fourth?.messages.at(-1)).toEqual({ role: "user", text: "fourth" });
    expect(fourth?.messages.some(({ text }) => text === "first")).toBe(false);
    expectInOrder(fourth ?? { system: [] }, [INSTRUCTIONS, "**Source:** Telegram (DM with Ada)"]);
  });
});
