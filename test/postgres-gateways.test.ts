import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { connectHomeProcesses } from "../src/apps/connect-home-processes.ts";
import { makeHome, resolveHome } from "../src/apps/home.ts";
import { openHomeStore } from "../src/apps/open-store.ts";
import { processIdFrom } from "../src/core/process.ts";
import { buildRouting, systemClock } from "../src/index.ts";
import { awaitChange } from "../src/sessions/await-change.ts";
import { DEFAULT_RESET } from "../src/sessions/routing.ts";
import { endKeeper } from "./support/end-keeper.ts";
import { type GatewayProgram, type GatewayScene, gatewayScene } from "./support/gateway-program.ts";
import { createTestSchema } from "./support/postgres-room.ts";
import { findTestServer } from "./support/postgres-server.ts";

interface SharedScene extends GatewayScene {
  readonly environment: NodeJS.ProcessEnv;
  /** Starts a gateway with this name, and waits until it runs. */
  member(name: string, more?: NodeJS.ProcessEnv): Promise<GatewayProgram>;
  worker(name: string): Promise<GatewayProgram>;
  status(): Promise<{ readonly gateways: readonly Member[] }>;
}

interface Member {
  readonly kind: string;
  readonly name: string;
  readonly platforms: readonly { readonly platform: string; readonly state: string }[];
}

/** An agent that takes its time for "slow". */
const ANSWERS = [
  { to: "slow", say: ["one ", { wait_ms: 1500 }, "two"] },
  { say: ["You said: ", { echo: true }] },
];

async function sharedScene(): Promise<SharedScene> {
  const scene = await gatewayScene();
  mkdirSync(scene.home, { mode: 0o700 });
  const script = join(scene.home, "script.json");
  writeFileSync(script, JSON.stringify({ answers: ANSWERS }));
  const environment = {
    POSTRIDER_STORE: `${await findTestServer()}?schema=${createTestSchema()}`,
    POSTRIDER_STREAMING: "false",
    POSTRIDER_AGENT: `script:${script}`,
  };
  const start = async (command: readonly string[], name: string, more: NodeJS.ProcessEnv = {}) => {
    const program = scene.start([...command, "--verbose"], {
      ...environment,
      ...more,
      POSTRIDER_GATEWAY_NAME: name,
    });
    await Promise.race([program.logged(({ msg }) => msg === "the gateway runs"), program.ended]);
    return program;
  };
  return {
    ...scene,
    environment,
    member: (name, more) => start(["gateway", "run"], name, more),
    worker: (name) => start(["worker"], name),
    async status() {
      const { out } = await scene.run(["gateway", "status", "--json"], environment);
      return JSON.parse(out) as { gateways: Member[] };
    },
  };
}

/** Starts a process in the home, and returns what it printed. */
async function runProcess(folder: string): Promise<string> {
  const home = resolveHome({ POSTRIDER_HOME: folder });
  makeHome(home);
  const store = await openHomeStore({ home, environment: process.env });
  const processes = connectHomeProcesses(home, store, systemClock);
  const target = { platform: "local", chatType: "dm", chatId: basename(folder) } as const;
  const settings = { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock: systemClock };
  const { session, conversation } = await store.conversations.open(buildRouting(target, settings));
  const id = processIdFrom(systemClock.random(6));
  await processes.start({
    id,
    command: `echo of ${basename(folder)}; printf '%s' "$POSTRIDER_STORE"`,
    cwd: folder,
    background: true,
    pty: false,
    watch: { mode: "off", patterns: [], wakes: false },
    session: session.id,
    conversation: conversation.number,
    target,
    environment: { PATH: process.env.PATH ?? "" },
    secrets: [],
  });
  const asker = { everyone: true } as const;
  for (;;) {
    const change = awaitChange(store, new AbortController().signal);
    const found = await store.processes.getProcess({ asker, id });
    if (found?.status.state === "ended") break;
    await change.happened;
    change.forget();
  }
  const { text = "" } = (await store.processes.readProcessOutput({ asker, id })) ?? {};
  await processes.close();
  await endKeeper(folder);
  await store.close();
  return text;
}

const connected = (program: GatewayProgram) => program.logged(({ msg }) => msg === "connected");

describe("gateways on PostgreSQL", () => {
  it("answer once when one is killed during its answer, and show all members", async () => {
    const scene = await sharedScene();
    const { fake, chat, answers } = scene;
    const first = await scene.member("a");
    await connected(first);
    const second = await scene.member("b");
    const worker = await scene.worker("w");
    const { gateways } = await scene.status();
    expect(gateways.map(({ kind, name, platforms }) => [kind, name, platforms.length])).toEqual([
      ["gateway", "a", 1],
      ["gateway", "b", 0],
      ["worker", "w", 0],
    ]);
    await fake.say(chat, 7, "slow please");
    await first.logged(({ msg }) => msg === "a turn started");
    first.signal("SIGKILL");
    await first.ended;
    await connected(second);
    await fake.untilAnswered(chat, 1);
    expect(await answers()).toEqual(["one two"]);
    await fake.say(chat, 7, "hello");
    await fake.untilAnswered(chat, 2);
    expect(await answers()).toEqual(["one two", "You said: hello"]);
    for (const program of [second, worker]) program.signal("SIGTERM");
    expect((await second.ended).code).toBe(0);
    expect((await worker.ended).code).toBe(0);
  });

  it("leave turns above gateway.max_turns to a worker, and send its answers", async () => {
    const scene = await sharedScene();
    const { fake, chat, answers } = scene;
    await connected(await scene.member("a", { POSTRIDER_MAX_TURNS: "0" }));
    const worker = await scene.worker("w");
    await fake.say(chat, 7, "hello");
    await worker.logged(({ msg }) => msg === "a turn started");
    await fake.untilAnswered(chat, 1);
    expect(await answers()).toEqual(["You said: hello"]);
  });

  it("hand over and end when they are asked to drain, from any place with the store", async () => {
    const scene = await sharedScene();
    const { fake, chat, answers, environment } = scene;
    const first = await scene.member("a");
    await connected(first);
    const second = await scene.member("b");
    await fake.say(chat, 7, "slow please");
    await first.logged(({ msg }) => msg === "a turn started");
    const drained = await scene.run(["gateway", "drain", "a"], environment);
    expect(drained.out).toMatch(/^a has handed over its (?:connections|work)/);
    await connected(second);
    expect((await first.ended).code).toBe(0);
    await fake.untilAnswered(chat, 1);
    expect(await answers()).toEqual(["one two"]);
    const unknown = await scene.run(["gateway", "drain", "nobody"], environment);
    expect(unknown.err).toContain("No gateway or worker has the name nobody. There are: b.");
  });

  it("refuse a second one with the same name", async () => {
    const scene = await sharedScene();
    await scene.member("a");
    const { code, err } = await scene.run(["gateway", "run"], {
      ...scene.environment,
      POSTRIDER_GATEWAY_NAME: "a",
    });
    expect(code).toBe(3);
    expect(err).toContain("A gateway with the name a already runs");
  });
});

describe("commands of a home on PostgreSQL", () => {
  it("read and write the same sessions, and say which of them need a database file", async () => {
    const { run, home, environment } = await sharedScene();
    const asked = await run(["-q", "hello"], environment);
    expect(asked.out).toBe("You said: hello\n");
    const { out } = await run(["sessions", "list", "--json"], environment);
    expect(JSON.parse(out)).toMatchObject({ sessions: [{ message_count: 2 }] });
    const doctor = await run(["doctor"], environment);
    expect(doctor.out).toMatch(/PostgreSQL answers: 1 session, 2 messages/);
    const backup = await run(["backup", join(home, "copy.db")], environment);
    expect(backup.err).toContain("postrider backup works on a database file");
    const worker = await run(["worker"], { ...environment, POSTRIDER_STORE: "" });
    expect(worker.err).toContain("A worker needs a store that it shares with the gateways.");
    const wrong = await run(["sessions", "list"], { POSTRIDER_STORE: "mysql://user:hidden@host/x" });
    expect(wrong.err).toContain("The store must be an address like postgres://");
    expect(wrong.err).not.toContain("hidden");
  });

  it("keep their background processes there, with a keeper of each home", async () => {
    const { home: folder, environment } = await sharedScene();
    vi.stubEnv("POSTRIDER_STORE", environment.POSTRIDER_STORE);
    onTestFinished(() => void vi.unstubAllEnvs());
    const printed = await Promise.all([folder, `${folder}-2`].map((home) => runProcess(home)));
    expect(printed).toEqual(["of home\n", "of home-2\n"]);
  });

  it("use the store of config.yaml, which is a secret, and no project can change it", async () => {
    const { run, home, environment } = await sharedScene();
    writeFileSync(join(home, "config.yaml"), `store: ${JSON.stringify(environment.POSTRIDER_STORE)}\n`, {
      mode: 0o600,
    });
    const { POSTRIDER_STORE: _, ...rest } = environment;
    await run(["-q", "hello"], rest);
    const { out } = await run(["sessions", "list", "--json"], environment);
    expect(JSON.parse(out)).toMatchObject({ sessions: [{ message_count: 2 }] });
    const shown = await run(["config", "show"], rest);
    expect(shown.out).not.toContain("postgres://");
  });
});
