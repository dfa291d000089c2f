import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Process } from "../src/core/process.ts";
import { getText, OWNER, type Store, sqliteStore } from "../src/index.ts";
import { isAlive } from "../src/system/process-identity.ts";
import { look } from "./support/database.ts";
import { endKeeper, keepersOf } from "./support/end-keeper.ts";
import {
  ADA,
  type GatewayProgram,
  type GatewayScene,
  gatewayScene,
  SECRET,
} from "./support/gateway-program.ts";
import { pause } from "./support/keeper-room.ts";

const HOUR = 3_600_000;
const everyone = { everyone: true } as const;
const API_KEY = "sk-live-0123456789abcdefghijklmnop";

interface RestartScene extends GatewayScene {
  readonly store: Store;
  /** A gateway whose agent gives these answers. */
  answering(answers: Readonly<Record<string, readonly unknown[]>>): Promise<GatewayProgram>;
  /** Sends the text, and waits for this answer. */
  say(words: string, until: string): Promise<void>;
  /** All tool results of agents, in order. */
  results(): Promise<readonly string[]>;
  /** Kills a gateway without pending deliveries. */
  kill(gateway: GatewayProgram): Promise<void>;
  program(start: string): Promise<Process>;
  until(process: Process, isSo: (row: Process, printed: string) => boolean): Promise<Process>;
  /** Simulates a time without messages. */
  passed(ms: number): void;
  /** The notices in the chat about the end of this process. */
  ends(process: Process): Promise<readonly string[]>;
  /** The current session of Ada's chat. */
  session(): Promise<string>;
}

/** The owner's chat with a real gateway on a fake Telegram. Everything is removed after the test. */
async function restartScene(): Promise<RestartScene> {
  const scene = await gatewayScene();
  const { home, fake, chat } = scene;
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(
    join(home, "config.yaml"),
    `session_reset: { mode: idle, idle_minutes: 60 }\nmodel: { api_key: ${API_KEY} }\n`,
    { mode: 0o600 },
  );
  const file = join(home, "postrider.db");
  const store = await sqliteStore({ file, mode: "in-process" });
  onTestFinished(() => store.close());
  onTestFinished(() => endKeeper(home));
  await store.access.linkAccount({
    account: { platform: "telegram", userId: String(ADA) },
    person: OWNER,
    now: Date.now(),
  });

  async function row(id: string): Promise<Process> {
    const found = await store.processes.getProcess({ asker: everyone, id });
    if (found === undefined) throw new Error(`there is no process ${id}`);
    return found;
  }
  async function session(): Promise<string> {
    const source = { platform: "telegram", chatType: "dm", chatId: String(chat) };
    return (await store.conversations.findConversations({ asker: everyone, source }))[0]?.session ?? "";
  }
  async function eventually<Found>(find: () => Promise<Found | undefined>): Promise<Found> {
    // Other processes write these rows, so this polls.
    for (;;) {
      const found = await find();
      if (found !== undefined) return found;
      await pause();
    }
  }
  return {
    ...scene,
    store,
    answering(answers) {
      const script = join(home, "script.json");
      const listed = Object.entries(answers).map(([to, say]) => ({ to: `^${to}$`, say }));
      writeFileSync(script, JSON.stringify({ answers: listed }));
      return scene.gateway(["--verbose"], { POSTRIDER_AGENT: `script:${script}`, MY_API_KEY: API_KEY });
    },
    async say(words, until) {
      await fake.say(chat, ADA, words);
      await fake.untilShown(chat, until);
    },
    async results() {
      const said = await store.messages.readHistory({ asker: everyone, session: await session() });
      return (said ?? []).filter(({ role }) => role === "tool").map(getText);
    },
    async kill(gateway) {
      // A message that is shown but not settled would be repeated with a mark, which another test covers.
      const open = "select 1 from deliveries where state in ('waiting', 'sending')";
      await eventually(async () => look(file, (db) => db.prepare(open).get() === undefined) || undefined);
      await killed(gateway);
    },
    program: (start) =>
      eventually(async () =>
        (await store.processes.listProcesses({ asker: everyone, foreground: true, endedSince: 0 })).find(
          ({ command, status }) => command.startsWith(start) && status.state !== "starting",
        ),
      ),
    until: ({ id }, isSo) =>
      eventually(async () => {
        const now = await row(id);
        const printed = (await store.processes.readProcessOutput({ asker: everyone, id }))?.text ?? "";
        return isSo(now, printed) ? now : undefined;
      }),
    passed(ms) {
      const db = new Database(file, { timeout: 5000 });
      db.prepare("update conversations set active_at = active_at - ?").run(ms);
      db.close();
    },
    ends: async ({ id }) =>
      (await scene.answers()).filter((text) => text.includes(`(${id})`) && /ended/.test(text)),
    session,
  };
}

async function killed(program: GatewayProgram): Promise<void> {
  program.signal("SIGKILL");
  await program.ended;
}

const use = (name: string, given: object): object => ({ use: name, arguments: given });
const inTerminal = (command: string): object => use("terminal", { command, background: true, pty: true });
const ended = ({ status }: Process): boolean => status.state === "ended";

/** The content of all files in a folder, as one text. */
function everythingIn(folder: string, but: readonly string[]): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !but.includes(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

describe("terminal processes while gateways crash and restart", () => {
  it("accept input after every restart, and their chat gets one notice of their end", async () => {
    const scene = await restartScene();
    const { chat, fake, run, until } = scene;
    const question = `bash -c 'read -r -p "Name? " name; echo "hello $name"; exit 5'`;

    let gateway = await scene.answering({
      start: [inTerminal("python3 -q"), inTerminal(question), "Started."],
    });
    await scene.say("start", "Started.");
    const python = await scene.program("python3");
    const bash = await scene.program("bash");
    await until(python, (_, printed) => printed.includes(">>>"));
    await until(bash, (_, printed) => printed.includes("Name?"));
    // The command line accesses the same processes while the gateway runs.
    expect(await run(["processes", "write", python.id, "x = 41", "--enter"])).toMatchObject({ code: 0 });
    const before = await scene.session();

    await scene.kill(gateway);
    scene.passed(3 * HOUR);
    gateway = await scene.answering({
      ask: [
        use("process", { action: "submit", session_id: python.id, data: "print(x + 1)" }),
        use("process", { action: "write", session_id: bash.id, data: "A" }),
        "Asked.",
      ],
      look: [
        use("process", { action: "poll", session_id: python.id }),
        use("process", { action: "log", session_id: bash.id }),
        "Looked.",
      ],
    });
    await scene.say("ask", "Asked.");
    await until(python, (_, printed) => /^42\r?$/m.test(printed));
    await until(bash, (_, printed) => printed.includes("Name? A"));
    await scene.say("look", "Looked.");
    const [polled = "", logged = ""] = (await scene.results()).slice(-2);
    expect(polled).toContain('"status":"running"');
    expect(polled).toMatch(/print\(x \+ 1\)\\n42\\n/);
    expect(logged).toContain("Name? A");
    // The idle time of the policy is over, but a process runs here.
    expect(await scene.session()).toBe(before);

    await scene.kill(gateway);
    scene.passed(3 * HOUR);
    // It ends without a gateway: the next one reports it.
    expect(await run(["processes", "write", bash.id, "da", "--enter"])).toMatchObject({ code: 0 });
    expect((await until(bash, ended)).status).toMatchObject({ exit: { code: 5 } });
    gateway = await scene.answering({ still: ["Here."] });
    await fake.untilShown(chat, `(${bash.id}) ended with code 5`);
    expect(await scene.ends(bash)).toEqual([expect.stringContaining("hello Ada")]);
    await scene.say("still", "Here.");
    expect(await scene.session()).toBe(before);

    const stopped = await run(["gateway", "stop"]);
    expect(stopped).toMatchObject({
      code: 0,
      err: expect.stringContaining("1 background process continues"),
    });
    await gateway.ended;
    gateway = await scene.answering({
      finish: [
        use("process", { action: "submit", session_id: python.id, data: "raise SystemExit(x - 18)" }),
        "Bye.",
      ],
    });
    await scene.say("finish", "Bye.");
    await fake.untilShown(chat, `(${python.id}) ended with code 23`);
    expect((await until(python, ended)).status).toMatchObject({ exit: { code: 23 } });

    await scene.kill(gateway);
    scene.passed(3 * HOUR);
    gateway = await scene.answering({ again: ["Afresh."] });
    await scene.say("again", "Afresh.");
    expect(await scene.session()).not.toBe(before);
    for (const program of [python, bash]) expect(await scene.ends(program)).toHaveLength(1);
    await scene.kill(gateway);
  });
});

describe("a foreground command whose gateway is killed", () => {
  it("continues, its real end is reported after the restart, and nothing runs twice", async () => {
    const scene = await restartScene();
    const { chat, fake, home, until } = scene;
    const [done = "", go = ""] = ["done", "go"].map((name) => join(`${home}.workspace`, "owner", name));
    const gateway = await scene.answering({
      slow: [
        use("terminal", {
          command: "echo begun >> done; until [ -e go ]; do sleep 0.05; done; echo ready >> done",
        }),
        "Ready.",
      ],
    });
    await fake.say(chat, ADA, "slow");
    const command = await scene.program("echo begun");
    while (!existsSync(done)) await pause();
    await killed(gateway);
    writeFileSync(go, "");
    expect((await until(command, ended)).status).toMatchObject({ exit: { code: 0 } });
    const next = await scene.answering({ slow: ["Twice!"] });
    await fake.untilShown(chat, "ended with code 0");
    await scene.kill(next);
    await scene.answering({ other: ["Yes?"] });
    await scene.say("other", "Yes?");
    const told = (await scene.answers()).filter((text) => /interrupted/.test(text));
    expect(told).toEqual([
      expect.stringMatching(/terminal may have acted already.*nothing was done again.*ended with code 0/s),
    ]);
    expect(await scene.answers()).not.toContain("Twice!");
    expect(readFileSync(done, "utf8")).toBe("begun\nready\n");
  });
});

describe("processes of a running gateway", () => {
  it("are listed, shown and ended from the command line, and neither get nor print a secret", async () => {
    const scene = await restartScene();
    const { chat, fake, home, run, until } = scene;
    // As earlier versions left it: the gateway moves it.
    mkdirSync(join(home, "workspace", "owner"), { mode: 0o700, recursive: true });
    const leaked = join(home, "workspace", "owner", "leaked");
    writeFileSync(leaked, `${SECRET} and ${API_KEY}`);
    const gateway = await scene.answering({
      go: [
        use("terminal", { command: "env; cat leaked" }),
        use("read_file", { path: "leaked" }),
        use("terminal", { command: "cat leaked; exec sleep 1000", background: true, check_interval: 30 }),
        "Gone.",
      ],
    });
    await scene.say("go", "Gone.");
    const [printed = "", read = ""] = await scene.results();
    expect(printed).toMatch(/^PATH=/m);
    expect(printed).not.toMatch(/TELEGRAM|POSTRIDER_(?!PROCESS=|RUN_BY_AGENT=)|API_KEY/);
    expect(printed).toContain("[secret] and [secret]");
    expect(read).toContain("[secret] and [secret]");

    const sleeping = await scene.program("cat leaked; exec sleep");
    if (sleeping.status.state !== "running") throw new Error("it does not run");
    await until(sleeping, (_, text) => text.includes("[secret]"));
    const { pid } = sleeping.status;
    for (const one of [pid, ...keepersOf(home)]) {
      const seen = readFileSync(`/proc/${one}/environ`, "latin1");
      expect(seen).toContain("PATH=");
      expect(seen).not.toMatch(/TELEGRAM|API_KEY/);
    }
    const listed = await run(["processes", "list", "--json"]);
    expect(JSON.parse(listed.out)).toMatchObject({ processes: [{ id: sleeping.id, state: "running", pid }] });
    expect(await run(["processes", "log", sleeping.id])).toMatchObject({
      code: 0,
      out: "[secret] and [secret]",
    });
    const ending = await run(["processes", "kill", sleeping.id.slice(0, 9)]);
    expect(ending).toMatchObject({ code: 0, out: expect.stringContaining(`${sleeping.id} ended`) });
    expect(isAlive(sleeping.status)).toBe(false);
    await fake.untilShown(chat, `(${sleeping.id}) was ended by SIGTERM`);
    await killed(gateway);

    await endKeeper(home);
    expect(keepersOf(home)).toEqual([]);
    const written = everythingIn(home, ["leaked", "config.yaml"]);
    for (const secret of [SECRET, API_KEY]) expect(written.includes(secret)).toBe(false);
    for (const text of await scene.answers()) expect(text).not.toContain(SECRET);
  });
});
