import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { buildRouting, localRunner, localSource, OWNER, sqliteStore, throwIfRefused } from "../src/index.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { settings } from "./support/routing.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
let home: string;

beforeEach(() => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  home = join(folder.path, "home");
});

interface Running {
  readonly process: ChildProcessWithoutNullStreams;
  /** Lines on stdout so far. */
  readonly lines: string[];
  /** Resolves at the next line. */
  nextLine(): Promise<string>;
  readonly ended: Promise<Ended>;
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(...args: string[]): Running {
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...process.env, POSTRIDER_HOME: home } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => {
    out += data;
  });
  child.stderr.on("data", (data) => {
    err += data;
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    waiting.shift()?.(line);
  });
  child.stdin.on("error", () => {}); // it may be killed during a write
  return {
    process: child,
    lines,
    nextLine: () => new Promise((resolve) => waiting.push(resolve)),
    ended: new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err }))),
  };
}

/** Runs it with this input on a pipe. */
function piped(input: string): Promise<Ended> {
  const { process: child, ended } = start();
  child.stdin.end(input);
  return ended;
}

/** Role and text of all messages, in order. */
function said(): [role: number, text: string][] {
  const sql = "select role, text from messages order by id";
  return look(join(home, "postrider.db"), (db) => db.prepare(sql).raw().all() as [number, string][]);
}

describe("postrider", () => {
  it("answers a line from a pipe with one line, and prints nothing else", async () => {
    expect(await piped("hello\n")).toEqual({ code: 0, out: "You said: hello\n", err: "" });
  });

  it("answers each line in order, also a last line without a line break, and skips empty lines", async () => {
    const { code, out } = await piped("one\n\n   \ntwo\nthree");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.slice(0, 15))).toEqual([
      "You said: one",
      "You said: two (",
      "You said: three",
      "",
    ]);
  });

  it("keeps earlier messages after it was killed", async () => {
    const { process: child, nextLine, ended } = start();
    const answer = nextLine();
    child.stdin.write("remember the milk\n");
    expect(await answer).toBe("You said: remember the milk");
    child.kill("SIGKILL");
    await ended;
    const { out } = await piped("what was it?\n");
    expect(out).toBe("You said: what was it? (before that: remember the milk)\n");
  });

  it("answers all accepted lines once after it was killed with more input pending, and continues", async () => {
    const { process: child, lines, nextLine, ended } = start();
    for (let n = 1; n <= 500; n += 1) child.stdin.write(`line ${n}\n`);
    while (lines.length < 20) await nextLine();
    child.kill("SIGKILL");
    await ended;
    const before = said();
    const accepted = before.filter(([role]) => role === 0).map(([, text]) => text);
    expect(accepted.length).toBeGreaterThanOrEqual(lines.length);
    expect(accepted.length).toBeLessThan(500);
    expect(accepted).toEqual(Array.from({ length: accepted.length }, (_, n) => `line ${n + 1}`));

    const { code, out, err } = await piped("and now?\n");
    expect(code).toBe(0);
    expect(out).toBe(`You said: and now? (before that: line ${accepted.length})\n`);
    // Every line has its answer, one each, in order.
    const after = said();
    expect(after.filter((_, at) => at % 2 === 0).map(([, text]) => text)).toEqual([...accepted, "and now?"]);
    expect(after.filter((_, at) => at % 2 === 1).every(([role]) => role === 1)).toBe(true);
    // Answered messages are not answered again.
    const owed = accepted.length - before.filter(([role]) => role === 1).length;
    expect(err.match(/Answer to a message from an earlier run: You said: line \d+/g) ?? []).toHaveLength(
      owed,
    );
  });

  it("makes its home and its files private, also while it runs", async () => {
    const { process: child, nextLine, ended } = start();
    const answer = nextLine();
    child.stdin.write("secret\n");
    await answer;
    expect(statSync(home).mode & 0o777).toBe(0o700);
    const files = readdirSync(home);
    expect(files).toContain("postrider.db");
    for (const file of files) expect(statSync(join(home, file)).mode & 0o777, file).toBe(0o600);
    child.stdin.end();
    expect((await ended).code).toBe(0);
    expect(readdirSync(home)).toEqual(["postrider.db"]);
  });

  it("prints --help and --version, and refuses an unknown option", async () => {
    const help = await start("--help").ended;
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toContain("Usage: postrider");
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(await start("--version").ended).toEqual({ code: 0, out: `${version}\n`, err: "" });
    const unknown = await start("--colour").ended;
    expect(unknown).toMatchObject({ code: 2, out: "" });
    expect(unknown.err).toContain("--colour");
    expect(unknown.err).toContain("--help");
  });

  it("suggests a similar command or option", async () => {
    const meant = async (...args: readonly string[]): Promise<string> => (await start(...args).ended).err;
    expect(await meant("sesions", "list")).toContain("Did you mean sessions?");
    expect(await meant("sessions", "lst")).toContain("Did you mean postrider sessions list?");
    expect(await meant("sessions", "list", "--jsn")).toContain("Unknown option --jsn. Did you mean --json?");
    expect(await meant("--contniue")).toContain("Did you mean --continue?");
  });

  it("explains in one sentence why it cannot start", async () => {
    home = join(BIN, "home"); // below a file, where no folder can be
    const { code, out, err } = await piped("hello\n");
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toMatch(/^postrider: [^\n]+\n$/);
  });

  it("answers every line once when two processes share a home", async () => {
    const inputs = ["a", "b"].map((name) => Array.from({ length: 20 }, (_, n) => `${name} ${n}`));
    const ended = await Promise.all(inputs.map((lines) => piped(`${lines.join("\n")}\n`)));
    expect(ended.map(({ code, err }) => [code, err])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    const answered = ended.flatMap(({ out }) => out.trimEnd().split("\n"));
    const lines = answered.map((line) => /^You said: (\w+ \d+)/.exec(line)?.[1]);
    expect(lines.toSorted()).toEqual(inputs.flat().toSorted());
    const roles = said().map(([role]) => role);
    expect(roles).toEqual(roles.map((_, at) => at % 2));
  });

  // It claims all pending messages of the session, also those that another terminal accepted, and prints those answers too.
  it("prints only the answers to its own lines when two processes share a home", async () => {
    // Another process is answering in the same session, so both lines are pending.
    const { process: first, nextLine } = start();
    const begun = nextLine();
    first.stdin.write("before\n");
    await begun;
    const store = await sqliteStore({ file: join(home, "postrider.db") });
    onTestFinished(() => store.close());
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: Date.now() });
    const held = await store.inbox.accept({
      ...buildRouting(localSource(), { ...settings, zone: "UTC" }),
      messageId: "held",
      message: { role: "user", parts: [{ type: "text", text: "held" }] },
      claim: { runner: runner.id, take: "one" },
    });
    if (held.duplicate || held.tooMany !== undefined || held.turn === undefined)
      throw new Error("the session was not free");
    const { turn, session } = held;
    const children = ["from a", "from b"].map((line) => {
      const child = start();
      child.process.stdin.end(`${line}\n`);
      return child;
    });
    await new Promise<void>((resolve) => {
      const waiting = (): number =>
        look(join(home, "postrider.db"), (db) =>
          Number(db.prepare("select count(*) from inbox where state = 0").pluck().get()),
        );
      const stop = store.onChange(() => {
        if (waiting() < 2) return;
        stop();
        resolve();
      });
    });
    expect(
      (await store.messages.readHistory({ asker: { person: OWNER }, session: session.id }))?.length,
    ).toBe(3);
    throwIfRefused(
      await store.turns.finish({
        turn: turn.number,
        fence: turn.fence,
        outcome: "done",
        messages: [{ role: "assistant", parts: [{ type: "text", text: "done" }] }],
        now: Date.now(),
      }),
    );
    const [a, b] = await Promise.all(children.map(({ ended }) => ended));
    expect(a?.out).toMatch(/^You said: from a [^\n]*\n$/);
    expect(b?.out).toMatch(/^You said: from b [^\n]*\n$/);
  });
});
