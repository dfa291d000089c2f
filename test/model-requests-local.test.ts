import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OWNER, throwIfRefused } from "../src/index.ts";
import { expectInOrder, expectNowhere } from "./model-requests/expect-in-order.ts";
import {
  API_KEY,
  type FullHome,
  fullHome,
  INSTRUCTIONS,
  JUDGE,
  MODEL,
  OWNER_TOOLS,
  PIRATE,
} from "./model-requests/full-home.ts";
import { runPostrider, startEditor } from "./model-requests/programs.ts";
import { readRequest } from "./model-requests/read-request.ts";
import { recordingEndpoint } from "./support/recording-endpoint.ts";
import { startPostrider } from "./support/terminal.ts";

const who = { person: OWNER };
const REMEMBERED = "drinks tea without sugar";
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Adds a memory entry that each later request must contain. */
async function remember(at: FullHome): Promise<void> {
  const store = await at.openStore();
  const change = { action: "add", text: REMEMBERED } as const;
  throwIfRefused(await store.memory.changeMemory({ owner: OWNER, change, now: Date.now() }));
}

/** Adds a project whose instructions each request must contain. */
function writeProject({ folder }: FullHome): void {
  mkdirSync(join(folder, ".git"));
  writeFileSync(join(folder, "AGENTS.md"), "Indent with tabs.\n");
}

/** The parts of the system text for this source and folder. */
function partsIn({ folder }: FullHome, source: string): readonly string[] {
  return [
    INSTRUCTIONS,
    "## Current Session Context",
    source,
    ` in the folder ${folder}.`,
    "Indent with tabs.",
    "Today is ",
    "## Memory",
    REMEMBERED,
  ];
}

describe.each([
  ["compatible", "/v1/chat/completions", "authorization", `Bearer ${API_KEY}`],
  ["openai", "/v1/responses", "authorization", `Bearer ${API_KEY}`],
  ["anthropic", "/v1/messages", "x-api-key", API_KEY],
] as const)("a request to a model of %s", (provider, path, header, key) => {
  it("for a single question contains the instructions, the source, the folder, the memory, the tools and the model", async () => {
    const endpoint = await recordingEndpoint({ answers: [{ say: "It is noon." }] });
    const at = fullHome({ url: endpoint.url, provider });
    await remember(at);
    writeProject(at);
    const ended = await runPostrider(at, ["-q", "What time is it?"]);
    expect(ended).toMatchObject({ code: 0, out: "It is noon.\n" });
    expect(endpoint.requests).toHaveLength(1);
    expect(endpoint.requests[0]).toMatchObject({ path, headers: { [header]: key } });
    const read = readRequest(endpoint.requests[0]);
    expect(read).toMatchObject({ kind: "answer", model: MODEL, tools: OWNER_TOOLS, notes: [] });
    expect(read.messages).toEqual([{ role: "user", text: "What time is it?" }]);
    expect(read.reasoning).toBeUndefined();
    expectInOrder(read, partsIn(at, "**Source:** Local"));
    expectNowhere(read, [PIRATE, JUDGE]);
    if (provider !== "anthropic") expect(read.system).toHaveLength(1);
    else {
      // Changing parts are in a separate block, so that the block before it can be cached.
      expect(read.system).toEqual([
        expect.stringContaining("Indent with tabs."),
        expect.stringMatching(/^Today is [\s\S]*## Memory/),
      ]);
      expect(read.cacheMarks).toEqual(["tool 3", "system 0", "message 0"]);
    }
  });

  it("from a pipe contains the calls, the results and the earlier lines in order", async () => {
    const note = { action: "add", text: "lives in Bath" };
    const endpoint = await recordingEndpoint({
      answers: [
        {
          think: { text: "I note it.", signature: "sealed" },
          calls: [{ id: "c1", name: "memory", input: note }],
        },
        { say: "Noted." },
        { say: "In Bath." },
      ],
    });
    const at = fullHome({ url: endpoint.url, provider });
    const lines = "I live in Bath.\nWhere do I live?\n";
    expect(await runPostrider(at, [], lines)).toMatchObject({
      code: 0,
      out: expect.stringContaining("In Bath."),
    });
    const asked = endpoint.requests.filter(({ kind }) => kind === "answer").map(readRequest);
    expect(asked).toHaveLength(3);
    for (const one of asked) {
      expect(one).toMatchObject({ model: MODEL, tools: OWNER_TOOLS, notes: [] });
      expectInOrder(one, [INSTRUCTIONS, "**Source:** Local", ` in the folder ${at.folder}.`, "Today is "]);
    }
    const call = {
      role: "assistant",
      text: "",
      calls: [{ name: "memory", input: note }],
      ...(provider !== "compatible" && { thoughts: ["I note it. (sealed)"] }),
    };
    const result = { role: "tool", text: expect.stringContaining("- lives in Bath") };
    const first = [{ role: "user", text: "I live in Bath." }];
    const second = [...first, call, result];
    const third = [
      ...second,
      { role: "assistant", text: "Noted." },
      { role: "user", text: "Where do I live?" },
    ];
    expect(asked.map(({ messages }) => messages)).toEqual([first, second, third]);
    // The first turn stores it; the next one gets it.
    expectNowhere(asked[1]?.system, ["## Memory"]);
    expectInOrder(asked[2] ?? { system: [] }, ["Today is ", "## Memory", "- lives in Bath"]);
  });
});

describe("a request from the terminal", () => {
  it("contains the settings, then the earlier messages, and a title request contains no tools", async () => {
    const endpoint = await recordingEndpoint({
      answers: [{ say: "Good morning." }, { say: "Rain." }],
      title: { say: "Morning weather" },
    });
    const at = fullHome({ url: endpoint.url });
    await remember(at);
    writeProject(at);
    const terminal = startPostrider([], { folder: at.folder, environment: at.environment, columns: 160 });
    await terminal.waitFor(/ · 0 messages · /);
    terminal.type("Hello there");
    terminal.press("enter");
    await terminal.waitFor("Good morning.");
    await terminal.waitFor(/ · 2 messages · /);
    terminal.type("How is the weather?");
    terminal.press("enter");
    await terminal.waitFor("Rain.");
    const asked = (await endpoint.untilAsked("answer", 2)).map(readRequest);
    for (const one of asked) {
      expect(one).toMatchObject({ model: MODEL, tools: OWNER_TOOLS, notes: [] });
      expectInOrder(one, partsIn(at, "**Source:** Local"));
    }
    expect(asked.map(({ messages }) => messages)).toEqual([
      [{ role: "user", text: "Hello there" }],
      [
        { role: "user", text: "Hello there" },
        { role: "assistant", text: "Good morning." },
        { role: "user", text: "How is the weather?" },
      ],
    ]);
    const [title] = await endpoint.untilAsked("title");
    const read = readRequest(title);
    expect(read).toMatchObject({ model: MODEL, tools: [], notes: [] });
    expect(read.messages.slice(0, 2)).toEqual([
      { role: "user", text: "Hello there" },
      { role: "assistant", text: "Good morning." },
    ]);
    expectNowhere(read, [INSTRUCTIONS, REMEMBERED]);
  });

  it("for a title uses the chosen model", async () => {
    const endpoint = await recordingEndpoint({
      answers: [{ say: "Good morning." }],
      title: { say: "Morning" },
    });
    const at = fullHome({ url: endpoint.url });
    const terminal = startPostrider([], { folder: at.folder, environment: at.environment, columns: 160 });
    await terminal.waitFor(/ · 0 messages · /);
    terminal.type("/model rider-9");
    terminal.press("enter");
    await terminal.waitFor("rider-9");
    terminal.type("Hello there");
    terminal.press("enter");
    const [title] = await endpoint.untilAsked("title");
    expect(readRequest(title)).toMatchObject({ model: "rider-9" });
  });
});

// Clients omit the reasoning for models without it, so these are real names.
describe.each([
  ["compatible", "rider-2", "high"],
  ["openai", "gpt-5.1", "high"],
  ["anthropic", "claude-sonnet-4-5", "enabled"],
] as const)("a request from an editor to %s", (provider, model, reasoning) => {
  it("contains AGENTS.md, the instructions, the personality, the chosen model and reasoning, and the images", async () => {
    const endpoint = await recordingEndpoint({ answers: [{ say: "A dot." }], title: { say: "A dot" } });
    const at = fullHome({ url: endpoint.url, provider });
    await remember(at);
    writeProject(at);
    const editor = await startEditor(at);
    const { sessionId } = await editor.open();
    for (const [configId, value] of [
      ["model", model],
      ["reasoning", "high"],
    ])
      await editor.call("session/set_config_option", { sessionId, configId, value });
    const store = await at.openStore();
    const [conversation] = await store.conversations.findConversations({ asker: who, session: sessionId });
    const choice = { asker: who, conversation: conversation?.number ?? 0, now: Date.now() };
    throwIfRefused(
      await store.conversations.changeConversationSettings({ ...choice, change: { personality: "judge" } }),
    );
    await editor.prompt(sessionId, [
      { type: "text", text: "What is this?" },
      { type: "image", mimeType: "image/png", data: PIXEL },
    ]);
    const read = readRequest((await endpoint.untilAsked("answer"))[0]);
    expect(read).toMatchObject({ model, reasoning, notes: [] });
    expect(read.tools).toEqual(OWNER_TOOLS);
    expect(read.messages).toEqual([
      { role: "user", text: "What is this?", images: [`data:image/png;base64,${PIXEL}`] },
    ]);
    const [instructions = "", ...parts] = partsIn(at, "**Source:** Editor");
    expectInOrder(read, [instructions, JUDGE, ...parts]);
    expectNowhere(read, [PIRATE]);
    expect(readRequest((await endpoint.untilAsked("title"))[0])).toMatchObject({ model });
  });
});
