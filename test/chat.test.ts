import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createSessions, OWNER, type Sessions, sqliteStore } from "../src/index.ts";
import { temporaryFolder } from "./support/folder.ts";
import { startPostrider, type Terminal, type TerminalOptions } from "./support/terminal.ts";

const SCRIPT = {
  answers: [
    {
      to: "table",
      say: [
        "# Horses\n\nHere is a **table** of `horses`:\n\n",
        "| horse | stage |\n| --- | --- |\n| Ada | 1 |\n| 夜景 | 22 |\n\n",
        "```ts\nconst one: number = 1; // a number\n```\n\n- a [letter](https://example.org/letter)\n",
      ],
      usage: { input_tokens: 1200, output_tokens: 345, estimated_cost_usd: 0.0123 },
    },
    // Long enough that only a stop ends it.
    { to: "for ever", say: ["It began ", { wait_ms: 3_600_000 }, "and it ended"] },
    { to: "broken", say: ["Half of ", { fail: "The model is not there." }] },
    { to: "weather", say: "The weather is fine." },
    { to: "Kyoto", say: "京都の夜景はきれいです。" },
    { say: "I heard you." },
  ],
};
const who = { person: OWNER };
let home: string;
let folder: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  folder = temporary.path;
  home = join(folder, "home");
  writeFileSync(join(folder, "script.json"), JSON.stringify(SCRIPT));
});

function open(args: readonly string[] = [], options: TerminalOptions = {}): Terminal {
  return startPostrider(args, {
    folder,
    ...options,
    environment: {
      POSTRIDER_HOME: home,
      POSTRIDER_AGENT: `script:${join(folder, "script.json")}`,
      ...options.environment,
    },
  });
}

/** The chat with the editor ready. */
async function ready(args: readonly string[] = [], options: TerminalOptions = {}): Promise<Terminal> {
  const terminal = open(args, options);
  await terminal.waitFor(/ · \d+ messages? · .* · script/);
  return terminal;
}

/** Types a line and sends it when the editor shows it. Input before a list has loaded is another test. */
async function send(terminal: Terminal, line: string): Promise<void> {
  terminal.type(line);
  await terminal.waitFor((screen) => editorOf(screen).includes(line.slice(0, 20)));
  terminal.press("enter");
}

/** Text is shown at once; the status line shows when the answer is stored and the next message can be sent. */
async function waitForAnswer(terminal: Terminal, words: string): Promise<void> {
  await terminal.waitFor(
    (screen) =>
      screen.some((row) => row.includes(words)) &&
      screen.some((row) => / · \d*[02468] messages · .* · script$/.test(row.trimEnd())),
  );
}

/** The text between the two rules of the editor. */
function editorOf(screen: readonly string[]): string {
  const rules = screen.flatMap((line, at) => (/^─{10}/.test(line) ? [at] : []));
  return screen.slice((rules.at(-2) ?? -1) + 1, rules.at(-1)).join("\n");
}

/** The messages above the editor. */
function said(terminal: Terminal): string {
  const screen = terminal.screen();
  const rule = screen.findIndex((line) => /^─{10}/.test(line));
  return screen.slice(0, rule).join("\n");
}

async function look<Result>(use: (sessions: Sessions) => Promise<Result>): Promise<Result> {
  const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
  try {
    return await use(createSessions({ store }));
  } finally {
    await store.close();
  }
}

/** Role and text of the messages in the newest session. */
function readNewest(): Promise<string[]> {
  return look(async (sessions) => {
    const { items } = await sessions.list(who, { limit: 1 });
    const shown = (await sessions.history(who, items[0]?.id ?? "")) ?? [];
    return shown.map(
      ({ role, parts }) => `${role}: ${parts.map((part) => ("text" in part ? part.text : "")).join()}`,
    );
  });
}

describe("the chat in a terminal", () => {
  it("prints two lines of welcome at the first start only", async () => {
    const first = await ready([], { columns: 120 });
    await first.waitFor("Welcome to Postrider. All messages are stored in");
    await first.waitFor("/help lists the commands of the chat");
    first.press("ctrl-d");
    expect((await first.ended).code).toBe(0);
    const second = await ready([], { columns: 120 });
    expect(second.screen().join("\n")).not.toContain("Welcome");
  });

  it("renders Markdown, and shows tokens and cost", async () => {
    const terminal = await ready([], { rows: 40 });
    await send(terminal, "show me a table");
    await terminal.waitFor("$0.0123");
    const screen = terminal.screen().join("\n");
    expect(screen).toContain("› show me a table");
    expect(screen).toContain("Horses");
    expect(screen).not.toContain("# Horses");
    expect(screen).not.toContain("**");
    expect(screen).toMatch(/│ horse │ stage │/);
    expect(screen).toMatch(/│ 夜景 {2}│ 22 {4}│/);
    expect(screen).toContain("https://example.org/letter");
    expect(screen).toMatch(/untitled · \w+ · 2 messages · 1\.5k tokens · \$0\.0123 · script/);
    // The keyword and the comment of the code have colours.
    expect(terminal.written()).toContain("\x1b[35mconst\x1b[39m");
    expect(terminal.written()).toContain("\x1b[90m// a number\x1b[39m");
  });

  it("streams an answer, stops it at Ctrl-C, and keeps and marks its partial text", async () => {
    const terminal = await ready();
    await send(terminal, "go on for ever");
    await terminal.waitFor("It began");
    await terminal.waitFor("script is answering");
    terminal.press("ctrl-c");
    await terminal.waitFor("(stopped)");
    await terminal.waitFor("Press Ctrl-C again to exit");
    expect(await readNewest()).toEqual(["user: go on for ever", "assistant: It began "]);
    await send(terminal, "how is the weather?");
    await waitForAnswer(terminal, "The weather is fine.");
  });

  it("exits at the second Ctrl-C, and restores the terminal", async () => {
    const terminal = await ready();
    await send(terminal, "go on for ever");
    await terminal.waitFor("It began");
    terminal.press("ctrl-c", "ctrl-c");
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.written()).toContain("\x1b[?2004l"); // bracketed paste is off
    expect(terminal.written().lastIndexOf("\x1b[?25h")).toBeGreaterThan(
      terminal.written().lastIndexOf("\x1b[?25l"),
    );
    expect(await readNewest()).toEqual(["user: go on for ever", "assistant: It began "]);
  });

  it("shows a message during an answer as pending, and answers it next", async () => {
    const terminal = await ready();
    await send(terminal, "go on for ever");
    await terminal.waitFor("It began");
    await send(terminal, "how is the weather?");
    await terminal.waitFor("pending: how is the weather?");
    await terminal.waitFor("1 pending");
    terminal.press("escape");
    await waitForAnswer(terminal, "The weather is fine.");
    expect(said(terminal)).not.toContain("pending:");
    expect(await readNewest()).toEqual([
      "user: go on for ever",
      "assistant: It began ",
      "user: how is the weather?",
      "assistant: The weather is fine.",
    ]);
  });

  it("reports why an answer failed, and retries with /retry", async () => {
    const terminal = await ready();
    await send(terminal, "broken");
    await terminal.waitFor("The model is not there. /retry tries again.");
    writeFileSync(join(folder, "script.json"), "unused: it was read at the start");
    await send(terminal, "/retry");
    await terminal.waitFor("Again: “broken”");
    await terminal.waitFor((screen) => {
      const afterRetry = screen.join("\n").split("Again: “broken”")[1] ?? "";
      return afterRetry.split("› broken").length === 2 && afterRetry.includes("The model is not there.");
    });
    expect(await readNewest()).toEqual(["user: broken", "assistant: Half of "]);
  });

  it("undoes and redoes the last exchange", async () => {
    const terminal = await ready();
    await send(terminal, "one");
    await waitForAnswer(terminal, "I heard you.");
    await send(terminal, "how is the weather?");
    await waitForAnswer(terminal, "The weather is fine.");
    await send(terminal, "/undo");
    await terminal.waitFor("Took back 2 messages: “how is the weather?”.");
    expect(said(terminal)).not.toContain("The weather is fine.");
    await terminal.waitFor("2 messages ·");
    await send(terminal, "/redo");
    await terminal.waitFor("Put back 2 messages.");
    expect(said(terminal)).toContain("The weather is fine.");
    await send(terminal, "/redo");
    await terminal.waitFor(/nothing to redo/i);
  });

  it("resumes a session from a list that typing filters", async () => {
    const terminal = await ready();
    await send(terminal, "tell me of Kyoto");
    await terminal.waitFor("京都の夜景はきれいです。");
    await send(terminal, "/title holiday plans");
    await terminal.waitFor("holiday plans ·");
    await send(terminal, "/new");
    await terminal.waitFor("To go back: /resume");
    await send(terminal, "how is the weather?");
    await waitForAnswer(terminal, "The weather is fine.");
    await send(terminal, "/new second");
    await terminal.waitFor("second ·");
    await send(terminal, "/resume");
    await terminal.waitFor("type to filter");
    await terminal.waitFor("holiday plans");
    await terminal.waitFor("how is the weather?");
    terminal.type("holi");
    await terminal.waitFor((screen) => !screen.join("\n").includes("how is the weather?"));
    terminal.press("enter");
    await terminal.waitFor("Back in holiday plans");
    expect(said(terminal)).toContain("京都の夜景はきれいです。");
    await terminal.waitFor("holiday plans ·");
    // Leaving the list changes nothing.
    await send(terminal, "/resume");
    await terminal.waitFor("type to filter");
    terminal.press("escape");
    await terminal.waitFor((screen) => !screen.join("\n").includes("type to filter"));
    await terminal.waitFor("holiday plans ·");
  });

  it("forks a session, and continues in the fork", async () => {
    const terminal = await ready([], { columns: 120 });
    await send(terminal, "one");
    await waitForAnswer(terminal, "I heard you.");
    await send(terminal, "/fork other way");
    await terminal.waitFor("You are in the copy other way");
    expect(said(terminal)).toContain("› one");
    await send(terminal, "how is the weather?");
    await waitForAnswer(terminal, "The weather is fine.");
    expect(await readNewest()).toEqual([
      "user: one",
      "assistant: I heard you.",
      "user: how is the weather?",
      "assistant: The weather is fine.",
    ]);
    const original = /original: \/resume (\w+)/.exec(terminal.everything().join("\n"))?.[1];
    await send(terminal, `/resume ${original}`);
    await terminal.waitFor("Back in");
    expect(said(terminal)).toContain("› one");
    expect(said(terminal)).not.toContain("weather");
  });

  it("searches all sessions and jumps to a found message", async () => {
    const terminal = await ready();
    for (const [at, line] of ["first", "tell me of Kyoto", "third"].entries()) {
      await send(terminal, line);
      await terminal.waitFor(new RegExp(`· ${2 * (at + 1)} messages · \\d+ tokens · script$`, "m"));
    }
    await send(terminal, "/new");
    await terminal.waitFor("New session");
    await send(terminal, "/search 夜");
    await terminal.waitFor("type to filter");
    await terminal.waitFor("京都の夜景はきれいです。");
    terminal.press("enter");
    await terminal.waitFor("around message 4");
    expect(terminal.screen().join("\n")).toMatch(/▶ 4 agent .*京都の夜景はきれいです。/);
    await terminal.waitFor("6 messages ·");
    await send(terminal, "/search nowhere-to-be-found");
    await terminal.waitFor("Nothing was found");
  });

  it("sends pasted text as one message, with any number of lines", async () => {
    const terminal = await ready();
    terminal.paste("first line\nsecond line\n\nfourth line");
    await terminal.waitFor((screen) => editorOf(screen).includes("fourth line"));
    terminal.press("enter");
    await waitForAnswer(terminal, "I heard you.");
    const many = Array.from({ length: 200 }, (_, n) => `line ${n} of a long text`).join("\n");
    terminal.type("look: ");
    terminal.paste(many);
    await terminal.waitFor(/paste #1 \+200 lines/);
    terminal.press("enter");
    await terminal.waitFor("4 messages ·");
    expect(await readNewest()).toEqual([
      "user: first line\nsecond line\n\nfourth line",
      "assistant: I heard you.",
      `user: look: ${many}`,
      "assistant: I heard you.",
    ]);
  });

  it("accepts messages of several lines, and recalls earlier ones with the arrow keys", async () => {
    const terminal = await ready();
    terminal.type("one");
    terminal.press("shift-enter");
    terminal.type("two");
    await terminal.waitFor((screen) => /one\s*\n\s*two/.test(editorOf(screen)));
    terminal.press("enter");
    await waitForAnswer(terminal, "I heard you.");
    terminal.press("ctrl-d");
    await terminal.ended;
    const later = await ready();
    later.press("up");
    await later.waitFor((screen) => /one\s*\n\s*two/.test(editorOf(screen)));
  });

  it("completes commands, titles and handles", async () => {
    const terminal = await ready();
    await send(terminal, "one");
    await waitForAnswer(terminal, "I heard you.");
    await send(terminal, "/title holiday plans");
    await terminal.waitFor("is called holiday plans now");
    await send(terminal, "/new");
    await terminal.waitFor("New session");
    terminal.type("/whe");
    await terminal.waitFor("show the session, its key");
    terminal.press("tab");
    await terminal.waitFor((screen) => editorOf(screen).includes("/where"));
    terminal.press("enter");
    await terminal.waitFor("agent:main:local:dm:cli");
    terminal.type("/resume holi");
    await terminal.waitFor((screen) => screen.slice(-12).join("\n").includes("holiday plans"));
    terminal.press("tab");
    await terminal.waitFor(
      (screen) => /\/resume \w{3,}/.test(editorOf(screen)) && !editorOf(screen).includes("holi"),
    );
    terminal.press("enter");
    await terminal.waitFor("Back in holiday plans");
  });

  it("redraws correctly when the window is resized", async () => {
    const terminal = await ready([], { columns: 100, rows: 30 });
    await send(terminal, "show me a table");
    await terminal.waitFor("$0.0123");
    for (const [columns, rows] of [
      [40, 20],
      [24, 10],
      [120, 40],
    ] as const) {
      terminal.resize(columns, rows);
      await terminal.waitFor((screen) => screen.some((line) => line.length === columns && /^─+$/.test(line)));
      expect(terminal.screen()).toHaveLength(rows);
    }
    const screen = terminal.screen().join("\n");
    expect(screen).toContain("› show me a table");
    expect(screen.split("› show me a table")).toHaveLength(2);
    expect(screen).toMatch(/│ 夜景 {2}│ 22 {4}│/);
    await send(terminal, "how is the weather?");
    await waitForAnswer(terminal, "The weather is fine.");
  });

  it("uses no colour if NO_COLOR is set", async () => {
    const terminal = await ready([], { rows: 40, environment: { NO_COLOR: "1" } });
    await send(terminal, "show me a table");
    await terminal.waitFor("$0.0123");
    // Inverse is the cursor; a colour would have a number of 30 or more.
    const sequences = terminal.written().split("\x1b[");
    expect(sequences.filter((sequence) => /^(?:3\d|4\d|9\d)(?:;\d+)*m/.test(sequence))).toEqual([]);
    expect(terminal.screen().join("\n")).toContain("const one: number = 1;");
  });

  it("gives each of two terminals its own conversation, and updates a shared session in both", async () => {
    const first = await ready();
    await send(first, "one");
    await waitForAnswer(first, "I heard you.");
    const second = await ready();
    expect(said(second)).not.toContain("› one");
    await send(second, "/where");
    await second.waitFor("agent:main:local:dm:cli:2");
    const handle = / · (\w+) · 2 messages/.exec(first.screen().join("\n"))?.[1];
    await send(second, `/resume ${handle}`);
    await second.waitFor("› one");
    await send(first, "how is the weather?");
    await second.waitFor("› how is the weather?");
    await waitForAnswer(second, "The weather is fine.");
    await send(second, "tell me of Kyoto");
    await first.waitFor("京都の夜景はきれいです。");
    expect(said(first).split("› tell me of Kyoto")).toHaveLength(2);
    await send(first, "/new");
    await first.waitFor("New session");
    await send(second, "third");
    await second.waitFor("8 messages ·");
    expect(said(first)).not.toContain("third");
  });

  it("answers an accepted message once at the next start after it was killed", async () => {
    const terminal = await ready();
    await send(terminal, "go on for ever");
    await terminal.waitFor("It began");
    terminal.kill("SIGKILL");
    await terminal.ended;
    writeFileSync(join(folder, "script.json"), JSON.stringify({ answers: [{ say: "Here I am again." }] }));
    const again = await ready();
    await waitForAnswer(again, "Here I am again.");
    expect(said(again).split("› go on for ever")).toHaveLength(2);
    expect(await readNewest()).toEqual(["user: go on for ever", "assistant: Here I am again."]);
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("keeps the partial answer and restores the terminal at %s", async (signal, code) => {
    const terminal = await ready();
    await send(terminal, "go on for ever");
    await terminal.waitFor("It began");
    terminal.kill(signal);
    expect((await terminal.ended).code).toBe(code);
    expect(terminal.written()).toContain("\x1b[?2004l");
    expect(await readNewest()).toEqual(["user: go on for ever", "assistant: It began "]);
  });

  it("starts in the newest session with -c, and in a named one with -r", async () => {
    const terminal = await ready();
    await send(terminal, "one");
    await waitForAnswer(terminal, "I heard you.");
    await send(terminal, "/title first");
    await terminal.waitFor("first ·");
    await send(terminal, "/new");
    await terminal.waitFor("New session");
    await send(terminal, "how is the weather?");
    await waitForAnswer(terminal, "The weather is fine.");
    await send(terminal, "/quit");
    expect((await terminal.ended).code).toBe(0);
    const named = await ready(["-r", "first"]);
    await named.waitFor("› one");
    named.press("ctrl-d");
    await named.ended;
    const newestOne = await ready(["-c"]);
    await newestOne.waitFor("The weather is fine.");
    newestOne.press("ctrl-d");
    await newestOne.ended;
    const unknown = open(["-r", "no such thing"]);
    expect((await unknown.ended).code).toBe(3);
    expect(unknown.everything().join("\n")).toContain('There is no session "no such thing"');
  });

  it("prints no control characters of stored messages to the screen", async () => {
    const first = await ready();
    first.press("ctrl-d");
    await first.ended;
    await look(async (sessions) => {
      const { id } = await sessions.create(who, { title: "forged" });
      await sessions.append(who, id, [
        { role: "user", text: "hi" },
        { role: "assistant", text: "evil \x1b[2J\x1b[1;1Hgone \x1b]0;renamed\x07 and \u202Eesrever" },
      ]);
    });
    const terminal = await ready(["-r", "forged"]);
    await terminal.waitFor("evil ␛[2J␛[1;1Hgone");
    expect(terminal.written()).not.toContain("\x1b]0;renamed");
    expect(terminal.written()).not.toContain("\u202E");
  });

  it("suggests the similar command, and sends a line with two slashes as text", async () => {
    const terminal = await ready([], { columns: 120 });
    await send(terminal, "/udno");
    await terminal.waitFor("There is no command /udno. Did you mean /undo?");
    await send(terminal, "//udno");
    await waitForAnswer(terminal, "I heard you.");
    expect(await readNewest()).toEqual(["user: /udno", "assistant: I heard you."]);
  });

  it("sends a line that was typed before the screen appeared", async () => {
    const terminal = open();
    terminal.type("the weather?\r");
    await waitForAnswer(terminal, "The weather is fine.");
    expect(await readNewest()).toEqual(["user: the weather?", "assistant: The weather is fine."]);
  });

  it("draws a correct screen with emoji that the terminal draws too wide", async () => {
    const terminal = await ready();
    // This terminal draws a family emoji as four pictures, so nearly a line of them would push everything else away.
    terminal.type(`${"👨‍👩‍👧‍👦".repeat(32)} the weather?`);
    await terminal.waitFor((screen) => editorOf(screen).includes("the weather?"));
    terminal.press("enter");
    await waitForAnswer(terminal, "The weather is fine.");
    const screen = terminal.screen();
    expect(screen.filter((row) => row.includes("the weather?"))).toHaveLength(1);
    expect(screen.filter((row) => / messages · /.test(row))).toHaveLength(1);
    expect(screen.filter((row) => row.startsWith("────"))).toHaveLength(2);
  });
});
