import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
import { temporaryFolder } from "./support/folder.ts";
import { modelServer } from "./support/model-server.ts";
import { startPostrider, type Terminal } from "./support/terminal.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const NO_MODEL = {
  POSTRIDER_AGENT: undefined,
  POSTRIDER_BASE_URL: undefined,
  POSTRIDER_MODEL: undefined,
  ANTHROPIC_API_KEY: undefined,
  OPENAI_API_KEY: undefined,
  GEMINI_API_KEY: undefined,
  GOOGLE_GENERATIVE_AI_API_KEY: undefined,
  OPENROUTER_API_KEY: undefined,
};
let home: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  home = join(temporary.path, "home");
});

async function open(environment: Readonly<Record<string, string | undefined>>): Promise<Terminal> {
  const terminal = startPostrider([], {
    columns: 120,
    environment: { ...NO_MODEL, POSTRIDER_HOME: home, ...environment },
  });
  await terminal.waitFor(/ · \d+ messages · /);
  return terminal;
}

/** Role and text of the messages in the newest session. */
async function newest(): Promise<string[]> {
  const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
  onTestFinished(() => store.close());
  const sessions = createSessions({ store });
  const who = { person: OWNER };
  const { items } = await sessions.list(who, { limit: 1 });
  const shown = (await sessions.history(who, items[0]?.id ?? "")) ?? [];
  return shown.map(({ role, parts: [part] }) => `${role}: ${part?.type === "text" ? part.text : ""}`);
}

describe("the chat with a model from the environment", () => {
  it("streams answers, and counts their tokens", async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 234, total_tokens: 1234 };
    const server = await modelServer(
      { say: ["**Good** ", "morning"], usage },
      { say: ["Half "], hang: true },
    );
    const terminal = await open({ POSTRIDER_BASE_URL: server.url, POSTRIDER_MODEL: "tiny" });
    terminal.type("hello\r");
    await terminal.waitFor("Good morning");
    await terminal.waitFor("1.2k tokens · tiny");
    terminal.type("and now?\r");
    await terminal.waitFor("Half");
    await terminal.waitFor("tiny is answering");
    terminal.press("ctrl-c");
    await terminal.waitFor("(stopped)");
    await server.left;
    expect(server.requests[1]?.body.messages.slice(1)).toEqual([
      { role: "user", content: "hello" },
      { role: "assistant", content: "**Good** morning" },
      { role: "user", content: "and now?" },
    ]);
  });

  it("shows the chosen model in the status line", async () => {
    const server = await modelServer({ say: ["One."] }, { say: ["A title"] }, { say: ["Two."] });
    const environment = { POSTRIDER_BASE_URL: server.url, POSTRIDER_MODEL: "tiny" };
    const terminal = await open(environment);
    await terminal.waitFor("0 tokens · tiny");
    terminal.type("/model large\r");
    await terminal.waitFor(/ tokens · large$/m);
    terminal.press("ctrl-d");
    await terminal.ended;
    const again = await open(environment);
    await again.waitFor(/ tokens · large$/m);
    again.type("hello\r");
    await again.waitFor("One.");
    expect(server.requests[0]?.body.model).toBe("large");
    again.type("/model default\r");
    await again.waitFor(/ tokens.* · tiny$/m);
  });

  it("sets a title after the first exchange, but never replaces a person's title", async () => {
    const server = await modelServer({ say: ["Good morning"] });
    server.title = 'Title: "Morning greetings"';
    const terminal = await open({ POSTRIDER_BASE_URL: server.url });
    terminal.type("hello\r");
    await terminal.waitFor("Morning greetings · ");
    terminal.type("/new my own\r");
    await terminal.waitFor("my own · ");
    terminal.type("hello\r");
    await terminal.waitFor("my own · ");
    await terminal.waitFor("2 messages · ");
    terminal.type("/new\r");
    await terminal.waitFor("untitled · ");
    terminal.type("hello again\r");
    await terminal.waitFor("Morning greetings #2 · ");
  });

  it("shows the conversation and answers once at the next start after it was killed during an answer", async () => {
    const server = await modelServer({ say: ["It began "], hang: true }, { say: ["It is whole."] });
    const environment = { POSTRIDER_BASE_URL: server.url, POSTRIDER_MODEL: "tiny" };
    const first = await open(environment);
    first.type("tell me\r");
    await first.waitFor("It began");
    first.kill("SIGKILL");
    await first.ended;
    const second = await open(environment);
    await second.waitFor("› tell me");
    await second.waitFor("It is whole.");
    expect(await newest()).toEqual(["user: tell me", "assistant: It is whole."]);
    expect(server.requests).toHaveLength(2);
    const [asked, askedAgain] = server.requests.map(({ body }) => body);
    expect(asked?.tools?.length).toBeGreaterThan(0);
    expect(askedAgain).toEqual(asked);
  });

  it("reports an invalid key, and retries with /retry", async () => {
    const server = await modelServer({ status: 401 }, { say: ["Welcome back."] });
    const terminal = await open({ OPENAI_API_KEY: "sk-wrong", POSTRIDER_BASE_URL: server.url });
    terminal.type("hello\r");
    await terminal.waitFor("start Postrider again. /retry tries again.");
    terminal.type("/retry\r");
    await terminal.waitFor("Welcome back.");
    expect(terminal.written()).not.toContain("sk-wrong");
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer sk-wrong",
      "Bearer sk-wrong",
    ]);
  });

  it("reports an empty answer once, and how to retry", async () => {
    const server = await modelServer({ say: [] });
    const terminal = await open({ POSTRIDER_BASE_URL: server.url, POSTRIDER_MODEL: "tiny" });
    terminal.type("hello\r");
    await terminal.waitFor("tiny gave an empty answer. /retry tries again.");
    expect(terminal.written().split("/retry tries again.")).toHaveLength(2);
  });

  it("explains in one line how to connect a model if there is none", async () => {
    const terminal = await open({});
    await terminal.waitFor("No model is configured, so I repeat your messages. Set ANTHROPIC_API_KEY");
    terminal.type("hello\r");
    await terminal.waitFor("You said: hello");
  });

  it("answers a single question as text", async () => {
    const server = await modelServer({ say: ["Forty-", "two."] });
    const child = spawn(process.execPath, [BIN, "-q", "what is it?"], {
      env: { ...process.env, ...NO_MODEL, POSTRIDER_HOME: home, POSTRIDER_BASE_URL: server.url },
    });
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect({ code, out }).toEqual({ code: 0, out: "Forty-two.\n" });
  });
});
