import { readdirSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
import { type Judge, startJudge } from "./gateway/drive.ts";
import type { ChildLine, ChildOptions } from "./gateway/gateway-process.ts";
import type { ChatPlace, FileJson } from "./gateway/protocol.ts";
import { openStage, type Stage } from "./gateway/stage.ts";
import { indexed, look } from "./support/database.ts";

let judges: Judge;

beforeAll(async () => {
  judges = await startJudge();
  return () => judges.stop();
});

const dm = (person: string): ChatPlace => ({ chat: `dm-${person}`, type: "dm" });
const ann = dm("ann");
const MEGABYTE = 1024 * 1024;
/** Megabytes that pass through four processes need time on a busy machine. */
const BIG = { timeout: 90_000 };
const ECHO = { script: { answers: [{ say: ["You said: ", { echo: true }] }] } };
const SHORT = { script: { answers: [{ say: "Noted." }] } };

async function stageFor(
  { onTestFinished }: TestContext,
  options: Partial<ChildOptions> = {},
): Promise<Stage> {
  const stage = await openStage(judges, options);
  onTestFinished(() => stage.end());
  return stage;
}

async function started(test: TestContext, options: Partial<ChildOptions> = {}): Promise<Stage> {
  const stage = await stageFor(test, options);
  await stage.start();
  return stage;
}

const fileCalled = (name: string): FileJson => ({
  name,
  mimeType: "application/octet-stream",
  base64: Buffer.from("some bytes").toString("base64"),
});

const ODD: readonly (readonly [what: string, words: string, answered: string])[] = [
  ["half a surrogate pair", "a\ud800b\udc00", "a\ufffdb\ufffd"],
  ["control characters", "a\u0007b\u001b[31mc\u0085d\u2028e", "a\u0007b\u001b[31mc\u0085d\u2028e"],
  ["a byte of zero", "a\u0000b", "a\u0000b"],
  ["invalid Unicode", Buffer.from([0x61, 0xff, 0xfe, 0x62]).toString(), "a\ufffd\ufffdb"],
  ["text that looks like SQL", `{"a":"'); drop table messages;--"}`, `{"a":"'); drop table messages;--"}`],
];

describe.concurrent("unusual input that is accepted:", BIG, () => {
  it("texts with any characters", async (test) => {
    const stage = await started(test, { agent: ECHO });
    for (const [what, words, answered] of ODD)
      expect((await stage.ask(ann, "ann", words)).text, what).toBe(`You said: ${answered}`);
    expect(stage.complaints()).toEqual([]);
  });

  it("a text of ten megabytes, which commands show shortened", async (test) => {
    const stage = await started(test, { agent: SHORT });
    expect((await stage.ask(ann, "ann", `begin ${"word ".repeat(2 * MEGABYTE)}`)).text).toBe("Noted.");
    for (const line of ["/history", "/sessions", "/status", "/search begin"]) {
      const { text } = await stage.ask(ann, "ann", line);
      expect(text.length, line).toBeLessThan(2000);
    }
    const { text } = await stage.ask(ann, "ann", "/undo");
    expect(text).toMatch(/^Took back 2 messages: “begin word .*…”/);
    expect(await stage.judge.shown()).toHaveLength(6);
    expect(stage.complaints()).toEqual([]);
  });

  it("files with any name, which is never used as a path", async (test) => {
    const stage = await started(test, { agent: SHORT });
    const names = [
      "../../../etc/passwd",
      "/etc/passwd",
      "a\u0000b.txt",
      "..",
      "x".repeat(5000),
      "a\nb.md",
      "",
    ];
    for (const name of names)
      expect((await stage.ask(ann, "ann", "here", [fileCalled(name)])).text, name).toBe("Noted.");
    const left = readdirSync(dirname(stage.file)).filter((name) => !name.startsWith("postrider.db"));
    expect(left).toEqual([]);
    const { files = [] } = await stage.ask(ann, "ann", "/export");
    expect(files.map(({ name }) => name)).toEqual([expect.stringMatching(/^[a-z0-9]+\.md$/)]);
    expect(stage.complaints()).toEqual([]);
  });
});

describe.concurrent("input that is refused once with a reason:", BIG, () => {
  it("a text and a file of more than 25 MB", async (test) => {
    const stage = await started(test, { agent: SHORT });
    const big = { ...fileCalled("big"), base64: Buffer.alloc(26 * MEGABYTE).toString("base64") };
    for (const [words, files] of [
      ["x".repeat(26 * MEGABYTE), []],
      ["look", [big]],
    ] as const) {
      const { text } = await stage.ask(ann, "ann", words, files);
      expect(text).toMatch(/larger than 26214400 bytes\. Split it/);
      await stage.judge.bringAgain(ann.chat);
    }
    expect((await stage.ask(ann, "ann", "hello")).text).toBe("Noted.");
    expect(await stage.judge.shown()).toHaveLength(3);
    expect(stage.complaints()).toEqual([]);
  });

  it("an empty message", async (test) => {
    const stage = await started(test, { agent: ECHO });
    await stage.judge.say(ann, "ann", "");
    await stage.judge.say(ann, "ann", " \n ");
    await stage.judge.say(ann, "ann", "hello");
    await stage.sees("the answer", ({ text }) => text === "You said: hello");
    const empty = "That message is empty.";
    expect((await stage.judge.shown()).map(({ text }) => text)).toEqual([empty, empty, "You said: hello"]);
    expect(stage.complaints()).toEqual([]);
  });
});

describe.concurrent("commands", BIG, () => {
  it("with a megabyte of arguments reply in a few words", async (test) => {
    const stage = await started(test, { agent: SHORT });
    await stage.ask(ann, "ann", "hello");
    const long = "word ".repeat(MEGABYTE / 5);
    const times: string[] = [];
    const names = [
      "title",
      "new",
      "resume",
      "search",
      "history",
      "busy",
      "model",
      "pair",
      "approve",
      "nonsense",
    ];
    for (const name of names) {
      const begun = Date.now();
      const { text } = await stage.ask(ann, "ann", `/${name} ${long}`);
      times.push(`${name} ${Date.now() - begun}`);
      expect(text.length, name).toBeLessThan(500);
    }
    console.log(`a megabyte of arguments, ms: ${times.join(", ")}`);
    // A queued line is a message like any other.
    await stage.judge.say(ann, "ann", `/queue ${long}`);
    await stage.sees("its answer", ({ seq, text }) => seq > 5 && text === "Noted.");
    expect((await stage.judge.shown()).length).toBeLessThan(25);
    expect(stage.complaints()).toEqual([]);
  });

  it("that do not exist get an error; a word of a megabyte is no command", async (test) => {
    const stage = await started(test, { agent: SHORT });
    expect((await stage.ask(ann, "ann", "/statsu")).text).toMatch(
      /There is no command \/statsu\. Did you mean \/status\?/,
    );
    expect((await stage.ask(ann, "ann", "/xyzzy")).text).toMatch(/\/help lists them/);
    expect((await stage.ask(ann, "ann", `/${"x".repeat(MEGABYTE)}`)).text).toBe("Noted.");
    expect((await stage.ask(ann, "ann", "/etc/hosts is a path")).text).toBe("Noted.");
    // In a group, it is for another bot or for the agent.
    expect((await stage.ask({ chat: "group-g", type: "group" }, "ann", "/xyzzy")).text).toBe("Noted.");
    expect(await stage.judge.shown()).toHaveLength(5);
  });
});

/** The logged errors of all processes, with their fields. */
const errorsOf = (stage: Stage): string => stage.complaints().join("\n");

describe.concurrent("a full disk", () => {
  it("delays an answer until there is space, and neither stops receiving nor loses a message", async (test) => {
    const think = { repeat: 400, say: [{ think: "x".repeat(1000) }] };
    const script = { answers: [{ to: "^long", say: [think, "a long thought"] }, { say: "Noted." }] };
    const stage = await stageFor(test, { agent: { script } });
    const roomy = await sqliteStore({ file: stage.file, mode: "in-process" });
    const sessions = createSessions({ store: roomy });
    await sessions.create({ person: OWNER }, { id: "ballast" });
    await sessions.append({ person: OWNER }, "ballast", { role: "note", text: "y".repeat(2 * MEGABYTE) });
    await indexed(stage.file);
    const pages = look(stage.file, (db) => Number(db.pragma("page_count", { simple: true })));
    await stage.start({ maxBytes: (pages + 60) * 4096 });

    await stage.judge.say(ann, "ann", "long thoughts, please");
    await test.expect
      .poll(() => errorsOf(stage), { timeout: 20_000 })
      .toContain("an answer could not be stored; retrying");
    // Messages that fit are answered meanwhile; the others are redelivered.
    expect((await stage.ask(dm("bob"), "bob", "hello")).text).toBe("Noted.");
    await stage.judge.say(dm("cat"), "cat", `a lot ${"z".repeat(400_000)}`);
    await test.expect
      .poll(() => errorsOf(stage), { timeout: 20_000 })
      .toContain("receiving a message failed; the platform delivers it again");
    expect(errorsOf(stage)).toMatch(/disk is full|no space/i);

    await sessions.remove({ person: OWNER }, "ballast");
    await roomy.close();
    await stage.sees("the answer that was kept", ({ text }) => text === "a long thought");
    await stage.sees("what came again", ({ chat }) => chat === "dm-cat");
    expect((await stage.ask(dm("dan"), "dan", "hello")).text).toBe("Noted.");
    expect((await stage.judge.shown()).map(({ chat }) => chat).toSorted()).toEqual([
      "dm-ann",
      "dm-bob",
      "dm-cat",
      "dm-dan",
    ]);
  });
});

describe.concurrent("a gateway that cannot work", () => {
  it("reports a rejected token without its value, and can be shut down", async (test) => {
    const stage = await stageFor(test);
    const { url, effects } = stage.judge;
    const child = stage.launch({ judge: { url, token: "wrong-token-1234", effects } });
    const refused = await child.heard<ChildLine>((line) => "level" in line && line.level === "error");
    expect(JSON.stringify(refused)).toMatch(/refused.*does not know this token: check it/);
    child.process.kill("SIGTERM");
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(JSON.stringify(child.lines)).not.toContain("wrong-token-1234");
  });

  it("does not start on the home and account of another gateway, and names that gateway", async (test) => {
    const stage = await stageFor(test);
    const first = await stage.start();
    const second = stage.launch();
    const { failed, words } = await second.heard<{ failed: string; words: string }>(
      (line) => "failed" in line,
    );
    expect(failed).toBe("in_use");
    expect(words).toContain(`platform:fake:bot (process ${first.pid} on ${hostname()})`);
    expect(await second.ended).toEqual({ code: 1, signal: null });
    // The first one continues, and another one can start after its end.
    expect((await stage.ask(ann, "ann", "[q1]")).text).toContain("[q1]");
    first.process.kill("SIGTERM");
    expect(await first.ended).toEqual({ code: 0, signal: null });
    await stage.start();
    expect((await stage.ask(ann, "ann", "[q2]")).text).toContain("[q2]");
    expect(stage.judge.witnessed.filter(({ kind }) => kind === "conflict")).toEqual([]);
  });

  it("ends when its store is closed, and the next gateway answers the messages that arrived meanwhile", async (test) => {
    const stage = await stageFor(test);
    const child = await stage.start();
    expect((await stage.ask(ann, "ann", "[q1]")).text).toContain("[q1]");
    child.process.kill("SIGUSR2");
    await child.heard<ChildLine>((line) => "closed" in line);
    await stage.judge.say(ann, "ann", "[q2]");
    const { failed, words } = await child.heard<{ failed: string; words: string }>(
      (line) => "failed" in line,
    );
    expect(failed).toBe("closed");
    expect(words).toMatch(/store/);
    expect(await child.ended).toEqual({ code: 1, signal: null });
    await stage.start();
    await stage.sees("the answer", ({ text }) => text.includes("[q2]"));
    expect((await stage.judge.shown()).map(({ text }) => text)).toEqual([
      expect.stringContaining("[q1]"),
      expect.stringContaining("[q2]"),
    ]);
  });
});
