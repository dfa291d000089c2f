import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  buildRouting,
  createSessions,
  localRunner,
  localSource,
  OWNER,
  type Session,
  type Store,
  sqliteStore,
  throwIfRefused,
} from "../src/index.ts";
import { runCommand } from "./support/command.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { settings } from "./support/routing.ts";
import { schedule } from "./support/schedule.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const me = { person: OWNER };
let folder: string;
let home: string;
let database: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  folder = join(temporary.path, "here");
  mkdirSync(folder);
  home = join(temporary.path, "home");
  database = join(home, "postrider.db");
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Running {
  readonly process: ChildProcessWithoutNullStreams;
  /** Sends one line to it. */
  say(line: string): void;
  /** Resolves when it has printed this. */
  printed(text: string): Promise<void>;
  readonly ended: Promise<Ended>;
}

function start(args: readonly string[] = [], agent = "echo", command = [process.execPath, BIN]): Running {
  const [file = "", ...first] = command;
  const child = spawn(file, [...first, ...args], {
    cwd: folder,
    env: { ...process.env, POSTRIDER_HOME: home, POSTRIDER_AGENT: agent },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const looks = new Set<() => void>();
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => {
    out += data;
    for (const see of [...looks]) see();
  });
  child.stderr.on("data", (data) => {
    err += data;
  });
  child.stdin.on("error", () => {}); // it may exit before it has read everything
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  return {
    process: child,
    say: (line) => void child.stdin.write(`${line}\n`),
    printed: (text) =>
      new Promise((resolve, reject) => {
        const see = (): void => {
          if (!out.includes(text)) return;
          looks.delete(see);
          resolve();
        };
        looks.add(see);
        void ended.then(() => reject(new Error(`it ended without "${text}": ${out}${err}`)));
        see();
      }),
    ended,
  };
}

/** Runs it with these lines, as a pipe does, in this process. */
function piped(lines: readonly string[], agent = "echo", ...args: readonly string[]): Promise<Ended> {
  const input = lines.map((line) => `${line}\n`).join("");
  return runCommand(home, args, { input, environment: { POSTRIDER_AGENT: agent } });
}

/** The same in a process of its own. */
function pipedApart(lines: readonly string[], ...args: readonly string[]): Promise<Ended> {
  const { process: child, ended } = start(args);
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  return ended;
}

/** Runs it without input. */
function postrider(...args: readonly string[]): Promise<Ended> {
  return piped([], undefined, ...args);
}

/** An agent with answers from a file. */
function scripted(...answers: readonly unknown[]): string {
  const file = join(folder, "script.json");
  writeFileSync(file, JSON.stringify({ answers }));
  return `script:${file}`;
}

const TEN_MINUTES = 600_000;
const slow = () =>
  scripted({ to: "story", say: ["Once ", { wait_ms: TEN_MINUTES }, "upon a time"] }, { say: "Fine." });

interface Row {
  readonly session: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly interrupted: boolean;
}

/** All stored messages, session by session. */
function said(): Row[] {
  const sql = `select s.id as session, m.role, m.text, m.meta from messages m join sessions s on s.n = m.id >> 24 order by m.id`;
  const rows = look(database, (db) => db.prepare(sql).all()) as {
    session: string;
    role: number;
    text: string | null;
    meta: string | null;
  }[];
  return rows.map(({ session, role, text, meta }) => ({
    session,
    role: role === 0 ? "user" : "assistant",
    text: text ?? "",
    interrupted: meta?.includes('"interrupted":true') ?? false,
  }));
}

async function withStore<Result>(use: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await sqliteStore({ file: database, mode: "in-process" });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function sessionsThere(): Promise<readonly Session[]> {
  return withStore(async (store) => (await createSessions({ store }).list(me, { limit: 100 })).items);
}

/** The messages of a session, by its title. */
async function shown(title: string): Promise<string[]> {
  return withStore(async (store) => {
    const sessions = createSessions({ store });
    const found = await sessions.findByTitle(me, title);
    const messages = (await sessions.history(me, found?.id ?? "")) ?? [];
    return messages.map(({ parts: [part] }) => (part?.type === "text" ? part.text : ""));
  });
}

describe("a pipe", () => {
  it("runs commands between messages, in order", async () => {
    const lines = ["hello", "/title first", "/undo", "/redo", "again", "/new second", "other"];
    const { code, out, err } = await pipedApart([...lines, "/resume first", "back"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out.split("\n")).toEqual([
      "You said: hello",
      "This session is called **first** now.",
      "Took back 2 messages: “hello”. /redo puts them back.",
      "Put back 2 messages.",
      "You said: again (before that: hello)",
      expect.stringMatching(
        /^New session \*\*second\*\* \(`\w+`\)\. The one before, \*\*first\*\* .* with its 4 messages\./,
      ),
      "You said: other",
      expect.stringMatching(/^Back in \*\*first\*\* \(`\w+`\), with 2 messages of yours\.$/),
      "You said: back (before that: again)",
      "",
    ]);
    expect(await shown("second")).toEqual(["other", "You said: other"]);
    expect(await shown("first")).toHaveLength(6);
  });

  it("retries, forks, and sends a line with two slashes as text", async () => {
    const lines = [
      "one",
      "/title plan",
      "/retry",
      "/fork",
      "two",
      "//undo",
      "/resume plan #1",
      "/resume plan #2",
    ];
    const { code, out, err } = await piped(lines);
    expect(out.split("\n")).toEqual([
      "You said: one",
      "This session is called **plan** now.",
      "Again: “one”",
      "You said: one",
      expect.stringMatching(/^You are in the copy \*\*plan #2\*\* /),
      "You said: two (before that: one)",
      "You said: /undo (before that: two)",
      expect.stringMatching(/^You are in \*\*plan #2\*\* .* already\.$/),
      "",
    ]);
    expect(err).toBe(
      'postrider: There is no session "plan #1". /sessions lists them, /search finds words in them.\n',
    );
    expect(code).toBe(1);
    expect(await shown("plan #2")).toEqual([
      "one",
      "You said: one",
      "two",
      "You said: two (before that: one)",
      "/undo",
      "You said: /undo (before that: two)",
    ]);
  });

  it("stops a running answer at once, keeps its partial text, and continues", async () => {
    const { process: child, say, printed, ended } = start([], slow());
    say("a story");
    await printed("Once ");
    say("/stop");
    say("and now?");
    await printed("Fine.\n");
    child.stdin.end("/stop\n");
    expect(await ended).toEqual({ code: 0, out: "Once \nFine.\nNothing is being answered.\n", err: "" });
    expect(said()).toMatchObject([
      { role: "user", text: "a story" },
      { role: "assistant", text: "Once ", interrupted: true },
      { role: "user", text: "and now?" },
      { role: "assistant", text: "Fine.", interrupted: false },
    ]);
  });

  it("searches messages and resumes at a found message", async () => {
    await piped(["the post to Lübeck", "/new"]);
    const { out } = await piped(["/search lubeck"]);
    const [, line = ""] = /`(\/resume \w+\/1)`/.exec(out) ?? [];
    expect(out).toContain("the post to **Lübeck** (now)");
    const there = await piped([
      line,
      "and then?",
      "/history zzz/1",
      `${line.replace("resume", "history").slice(0, -1)}99`,
    ]);
    expect(there.out).toMatch(
      /^Back in `\w+`, with 1 message of yours\.\n\*\w+, around message 1:\*\n\n▶ `1` \*\*you\*\* .*: the post to Lübeck\n/,
    );
    expect(there.out).toContain("You said: and then? (before that: the post to Lübeck)");
    expect(there.err.split("\n")).toEqual([
      expect.stringContaining('There is no session "zzz"'),
      "postrider: That session has no message 99.",
      "",
    ]);
  });

  it("writes an export into the current folder, readable only by its owner, and overwrites no file", async () => {
    const { code, out, err } = await piped(["hello", "/export", "/export md", "/export jsonl", "still here"]);
    const [{ handle } = { handle: "" }] = await sessionsThere();
    const file = join(folder, `${handle}.md`);
    expect(out).toBe(
      `You said: hello\nWritten to ${file}\nWritten to ${join(folder, `${handle}.jsonl`)}\nYou said: still here (before that: hello)\n`,
    );
    expect(err).toBe(`postrider: Cannot write ${file}: a file with this name exists; rename it first.\n`);
    expect(code).toBe(1);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toContain("\n\nhello\n\n## Agent");
    expect(JSON.parse(readFileSync(join(folder, `${handle}.jsonl`), "utf8"))).toBeTypeOf("object");
  });

  it("exits at /quit, and continues after an unknown command", async () => {
    expect(await piped(["/resum", "hello", "/quit", "never said"])).toEqual({
      code: 1,
      out: "You said: hello\n",
      err: "postrider: There is no command /resum. Did you mean /resume? To say it as it is, write //resum.\n",
    });
    expect(said().map(({ text }) => text)).toEqual(["hello", "You said: hello"]);
  });

  it("interrupted by Ctrl-C keeps the partial answer, and accepts no more lines", async () => {
    const { process: child, say, printed, ended } = start([], slow());
    say("a story");
    say("never said");
    await printed("Once ");
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 130, out: "Once \n", err: "" });
    expect(said()).toMatchObject([{ text: "a story" }, { text: "Once ", interrupted: true }]);
    expect((await piped(["hello"], slow())).out).toBe("Fine.\n");
  });

  it("with a closed output prints no error, and loses no accepted message", async () => {
    const pipeline = `seq 300 | "$0" "$1" | head -1; echo "\${PIPESTATUS[1]}"`;
    const { out, err } = await start([], "echo", ["bash", "-c", pipeline, process.execPath, BIN]).ended;
    expect(out).toBe("You said: 1\n0\n");
    expect(err).toBe("");
    const before = said().filter(({ role }) => role === "user").length;
    expect((await piped(["and now?"])).code).toBe(0);
    const rows = said();
    expect(rows.map(({ role }) => role)).toEqual(rows.map((_, at) => (at % 2 === 0 ? "user" : "assistant")));
    expect(rows).toHaveLength(2 * (before + 1));
  });

  it("reports a failure of the agent, and keeps the message", async () => {
    const agent = scripted({ to: "fail", say: ["Well, ", { fail: "The line is dead." }] }, { say: "Fine." });
    expect(await piped(["fail", "hello"], agent)).toEqual({
      code: 1,
      out: "Well, \nFine.\n",
      err: "postrider: The line is dead.\n",
    });
    expect(said().map(({ text }) => text)).toEqual(["fail", "Well, ", "hello", "Fine."]);
  });

  it("prints only its own answer, once, while another process shares the conversation", async () => {
    const agent = scripted({ to: "story", say: ["Once ", { wait_ms: 50 }, "upon a time"] }, { say: "Fine." });
    const first = start([], agent);
    first.say("a story");
    await first.printed("Once ");
    const second = start([], agent);
    second.process.stdin.end("hello\n");
    first.process.stdin.end();
    expect(await first.ended).toEqual({ code: 0, out: "Once upon a time\n", err: "" });
    expect(await second.ended).toEqual({ code: 0, out: "Fine.\n", err: "" });
  });
});

describe("a line that is pending behind the answer of another process", () => {
  /** Another process is answering in the first terminal's session. */
  async function busy() {
    await piped(["before"]);
    const store = await sqliteStore({ file: database });
    onTestFinished(() => store.close());
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: Date.now() });
    const held = await store.inbox.accept({
      ...buildRouting(localSource(), settings),
      messageId: "held",
      message: { role: "user", parts: [{ type: "text", text: "held" }] },
      claim: { runner: runner.id, take: "one" },
    });
    if (held.duplicate || held.tooMany !== undefined || held.turn === undefined)
      throw new Error("the session was not free");
    const { turn } = held;
    const waiting = (): number =>
      look(database, (db) => Number(db.prepare("select count(*) from inbox where state = 0").pluck().get()));
    return {
      waiting,
      /** Resolves when a message is pending. */
      somethingWaits: () =>
        new Promise<void>((resolve) => {
          const stop = store.onChange(() => {
            if (waiting() === 0) return;
            stop();
            resolve();
          });
        }),
      finish: async () =>
        throwIfRefused(
          await store.turns.finish({
            turn: turn.number,
            fence: turn.fence,
            outcome: "done",
            messages: [{ role: "assistant", parts: [{ type: "text", text: "done" }] }],
            now: Date.now(),
          }),
        ),
    };
  }

  it("does not block Ctrl-C, and the next process answers it", async () => {
    const { somethingWaits, finish, waiting } = await busy();
    const { process: child, say, ended } = start();
    const there = somethingWaits();
    say("mine");
    await there;
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 130, out: "", err: "" });
    expect(waiting()).toBe(1);
    await finish();
    const next = await piped(["next"]);
    expect(next.err).toBe("Answer to a message from an earlier run: You said: mine (before that: held)\n");
    expect(next.out).toBe("You said: next (before that: mine)\n");
  });

  it("is answered in the session to which another process moves the conversation", async () => {
    await piped(["elsewhere", "/title other", "/new"]);
    const { somethingWaits, finish } = await busy();
    const { process: child, say, ended } = start();
    const there = somethingWaits();
    say("mine");
    await there;
    // It has no input itself, and does not answer for a process that is alive.
    expect(await postrider("-r", "other")).toMatchObject({ code: 0, out: "" });
    child.stdin.end();
    expect(await ended).toEqual({ code: 0, out: "You said: mine (before that: elsewhere)\n", err: "" });
    expect((await shown("other")).at(-2)).toBe("mine");
    await finish();
  });

  it("continues at once when the other process is killed, before the next heartbeat", async () => {
    const first = start([], slow());
    first.say("a story");
    await first.printed("Once");
    const second = start([], scripted({ to: "story", say: "Told." }, { say: "Fine." }));
    const beat = (): unknown =>
      look(database, (db) =>
        db.prepare("select heartbeat from runners where pid = ?").pluck().get(second.process.pid),
      );
    const waiting = (): number =>
      look(database, (db) => Number(db.prepare("select count(*) from inbox where state = 0").pluck().get()));
    second.say("mine");
    await vi.waitUntil(() => waiting() === 1, { timeout: 10_000 });
    const before = beat();
    first.process.kill("SIGKILL");
    await second.printed("Fine.");
    expect(beat()).toBe(before);
    second.process.stdin.end();
    expect((await second.ended).out).toBe("Fine.\n");
    expect(said().map(({ text }) => text)).toEqual(["a story", "Told.", "mine", "Fine."]);
  });

  it("does not block Ctrl-C, and is cancelled if it is a single question", async () => {
    const { somethingWaits, finish, waiting } = await busy();
    const there = somethingWaits();
    const { process: child, ended } = start(["-c", "-q", "mine"]);
    child.stdin.end();
    await there;
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 130, out: "", err: "" });
    expect(waiting()).toBe(0);
    await finish();
  });
});

describe("a single question", () => {
  it("is answered on stdout, in its own session", async () => {
    expect(await pipedApart([], "-q", "how far is it?")).toEqual({
      code: 0,
      out: "You said: how far is it?\n",
      err: "",
    });
    expect((await pipedApart([], "--query", "and back?")).out).toBe("You said: and back?\n");
    expect((await pipedApart(["hello"])).out).toBe("You said: hello\n");
    expect(await sessionsThere()).toHaveLength(3);
  });

  it("is answered as JSON", async () => {
    const agent = scripted({
      say: ["It is ", "far."],
      usage: { input_tokens: 3, output_tokens: 2, model: "m" },
    });
    const { code, out, err } = await piped([], agent, "-q", "how far?", "--json");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^[^\n]+\n$/);
    const [{ id, handle } = { id: "", handle: "" }] = await sessionsThere();
    const answer = JSON.parse(out);
    expect(answer).toEqual({
      answer: "It is far.",
      session: id,
      handle,
      seq: 2,
      interrupted: false,
      usage: expect.objectContaining({ input_tokens: 3, output_tokens: 2, total_tokens: 5, model: "m" }),
    });
  });

  it("is read from stdin with all lines if it is a dash", async () => {
    const { out } = await piped(["one", "", "/undo", "three "], undefined, "-q", "-", "--json");
    expect(JSON.parse(out).answer).toBe("You said: one\n\n/undo\nthree");
    const none = await piped(["", "  "], undefined, "-q", "-");
    expect([none.code, none.out]).toEqual([2, ""]);
    expect(none.err).toContain("The question is empty");
  });

  it("is followed by the text from stdin in a code block", async () => {
    const { code, out, err } = await piped(
      ["one", "```", "three"],
      undefined,
      "-q",
      "what is this?",
      "--json",
    );
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out).answer).toBe(
      "You said: what is this?\n\nInput from stdin:\n\n````\none\n```\nthree\n````",
    );
  });

  it("is sent without stdin if that is empty, a device, or a pipe without input", async () => {
    expect((await piped([" "], undefined, "-q", "empty?")).out).toBe("You said: empty?\n");
    const device = start(["-c", `exec "$0" "$@" </dev/null`, process.execPath, BIN, "-q", "null?"], "echo", [
      "sh",
    ]);
    expect((await device.ended).out).toBe("You said: null?\n");
    const silent = await start(["-q", "silent?"]).ended;
    expect(silent.out).toBe("You said: silent?\n");
    expect(silent.err).toContain("no input on stdin");
  });

  it("is refused if stdin is too long or not text", async () => {
    const large = start(["-q", "large?"]);
    large.process.stdin.end("x".repeat(1024 * 1024 + 1));
    expect(await large.ended).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("longer than"),
    });
    const binary = start(["-q", "binary?"]);
    binary.process.stdin.end("a\0b");
    expect(await binary.ended).toMatchObject({ code: 1, out: "", err: expect.stringContaining("not text") });
    expect(existsSync(database)).toBe(false);
  });

  it("continues in the newest session or in a named one", async () => {
    await piped(["one", "/title plan", "/new", "two"]);
    expect((await postrider("-c", "-q", "three")).out).toBe("You said: three (before that: two)\n");
    expect((await postrider("-r", "plan", "-q", "four")).out).toBe("You said: four (before that: one)\n");
    const [{ handle } = { handle: "" }] = await sessionsThere();
    expect((await postrider("--resume", handle, "-q", "five")).out).toBe(
      "You said: five (before that: four)\n",
    );
    // The next question is not sent there, and the pipe keeps its session.
    expect((await postrider("-q", "six")).out).toBe("You said: six\n");
    expect((await piped(["seven"])).out).toBe("You said: seven (before that: three)\n");
  });

  it("is refused for an unknown session, and stores nothing", async () => {
    const nothing = await postrider("-c", "-q", "hello");
    expect(nothing).toMatchObject({ code: 3, out: "" });
    expect(nothing.err).toContain("There is no session to continue yet.");
    expect(await sessionsThere()).toEqual([]);
    await postrider("-q", "one");
    await postrider("-q", "two");
    const unknown = await postrider("-r", "banana", "-q", "hello", "--json");
    expect(unknown).toMatchObject({ code: 3, out: "" });
    expect(JSON.parse(unknown.err).error).toMatchObject({
      code: "not_found",
      details: { session: "banana" },
    });
    const [a = { id: "" }, b = { id: "" }] = await sessionsThere();
    const beginning = a.id.slice(
      0,
      [...a.id].findIndex((letter, at) => letter !== b.id[at]),
    );
    const several = await postrider("-r", beginning, "-q", "hello");
    expect(several).toMatchObject({ code: 4, out: "" });
    for (const { id } of [a, b]) expect(several.err).toContain(id);
    expect(said().filter(({ role }) => role === "user")).toHaveLength(2);
    expect(await sessionsThere()).toHaveLength(2);
  });

  it("is refused with invalid options, and creates no home", async () => {
    const wrong: [string[], string][] = [
      [["-c", "-r", "plan", "-q", "hello"], "--continue and --resume cannot be used together"],
      [["--json"], "--json needs --query"],
      [["-q", " "], "The question is empty"],
      [["-q", "hello", "--agent", "banana"], 'Unknown agent "banana"'],
    ];
    for (const [args, reason] of wrong) {
      const { code, out, err } = await postrider(...args);
      expect([code, out], args.join(" ")).toEqual([2, ""]);
      expect(err).toContain(reason);
      expect(err).toContain("--help");
    }
    expect(existsSync(home)).toBe(false);
  });

  it("reports an invalid script with its path and the error", async () => {
    const file = join(folder, "broken.json");
    for (const [text, reason] of [
      ["{", "JSON"],
      ['{ "answers": [{ "say": 7 }] }', "answers[0].say must be a list"],
      [undefined, "no such file"],
    ]) {
      if (text !== undefined) writeFileSync(file, text);
      const agent = `script:${text === undefined ? join(folder, "none.json") : file}`;
      const { code, out, err } = await piped([], agent, "-q", "hello");
      expect([code, out]).toEqual([1, ""]);
      expect(err).toContain(agent.slice("script:".length));
      expect(err).toContain(reason);
    }
  });

  it("reports a failure of the agent, keeps the partial answer, and prints only an error with --json", async () => {
    const agent = scripted({ say: ["Well, ", { fail: "The line is dead." }] });
    expect(await piped([], agent, "-q", "hello")).toEqual({
      code: 1,
      out: "Well, \n",
      err: "postrider: The line is dead.\n",
    });
    const { code, out, err } = await piped([], agent, "-q", "hello", "--json");
    expect([code, out]).toEqual([1, ""]);
    expect(JSON.parse(err).error).toMatchObject({
      code: "agent_failed",
      message: "The line is dead.",
      details: { answer: "Well, ", seq: 2 },
    });
    expect(said().map(({ text }) => text)).toEqual(["hello", "Well, ", "hello", "Well, "]);
  });

  it("interrupted by Ctrl-C prints and keeps the partial answer", async () => {
    await postrider("-q", "before"); // creates the home
    const store = await sqliteStore({ file: database, mode: "in-process" });
    onTestFinished(() => store.close());
    const begun = new Promise<void>((resolve) => {
      const stop = store.onChange(() => {
        if (said().length < 3) return;
        stop();
        resolve();
      });
    });
    const { process: child, ended } = start(["-q", "a story", "--json"], slow());
    await begun;
    child.kill("SIGINT");
    const { code, out } = await ended;
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({ interrupted: true, seq: 2 });
    expect(said().slice(2)).toMatchObject([
      { role: "user", text: "a story" },
      { role: "assistant", interrupted: true, text: JSON.parse(out).answer },
    ]);
  });

  const others = schedule("seven", "nineteen");
  it(`is answered in its own session while ${others} others run in a new home`, async () => {
    const asked = Array.from({ length: schedule(8, 20) }, (_, n) => `question ${n}`);
    const ended = await Promise.all(asked.map((question) => pipedApart([], "-q", question, "--json")));
    expect(ended.map(({ code, err }) => [code, err])).toEqual(asked.map(() => [0, ""]));
    const answers = ended.map(({ out }) => JSON.parse(out));
    expect(answers.map(({ answer }) => answer)).toEqual(asked.map((question) => `You said: ${question}`));
    expect(new Set(answers.map(({ session }) => session)).size).toBe(asked.length);
    const rows = said();
    expect(rows).toHaveLength(2 * asked.length);
    answers.forEach(({ session }, at) => {
      const own = rows.filter((row) => row.session === session).map(({ text }) => text);
      expect(own).toEqual([asked[at], `You said: ${asked[at]}`]);
    });
    expect(await sessionsThere()).toHaveLength(asked.length);
  });
});
