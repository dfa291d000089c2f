import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { localRunner, OWNER, sqliteStore } from "../src/index.ts";
import { asideDelivery } from "./support/aside-delivery.ts";
import { cli, cliOnFullDisk } from "./support/cli.ts";
import { NOW, testHome } from "./support/command.ts";
import { type GatewayProgram, gatewayScene, SECRET, TOKEN } from "./support/gateway-program.ts";
import { ageHeartbeats } from "./support/heartbeats.ts";
import { startPostrider } from "./support/terminal.ts";

async function stopped(program: GatewayProgram) {
  program.signal("SIGTERM");
  return program.ended;
}

function scriptFile(folder: string, answers: unknown): string {
  const file = join(folder, "script.json");
  writeFileSync(file, JSON.stringify({ answers }));
  return `script:${file}`;
}

/** The content of all files in a folder, as one text. */
function everythingIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

describe("postrider gateway run", () => {
  it("answers in Telegram, logs it as JSON, and keeps the log in the home without the token", async () => {
    const { gateway, ask, home } = await gatewayScene();
    const program = await gateway(["--verbose"]);
    expect(await ask("hello")).toBe("You said: hello");
    await program.logged(({ msg }) => msg === "delivered");
    const { code, out, err } = await stopped(program);
    expect({ code, out }).toEqual({ code: 0, out: "" });
    const log = join(home, "logs", "gateway.log");
    expect(readFileSync(log, "utf8")).toBe(err);
    expect(statSync(log).mode & 0o777).toBe(0o600);
    const lines = err
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const turn = lines.find(({ msg }) => msg === "a turn started")?.turn;
    // The turn number is in all lines about the turn.
    expect(lines.filter((line) => line.turn === turn).map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(["a turn started", "a turn ended", "delivered"]),
    );
    expect(everythingIn(home)).not.toContain(SECRET);
  });

  it("refuses a second gateway in a home, names the running one, and does not disturb it", async () => {
    const { gateway, ask, run } = await gatewayScene();
    const program = await gateway();
    const second = await run(["gateway", "run"]);
    expect(second).toMatchObject({ code: 3, out: "" });
    expect(second.err).toMatch(
      new RegExp(
        `A gateway is already running, process ${program.pid} on \\S+, and holds platform:telegram:4242\\.`,
      ),
    );
    expect(await ask("still there?")).toBe("You said: still there?");
  });

  it("starts at once after a killed gateway, and answers messages that arrived meanwhile", async () => {
    const { gateway, ask, fake, chat, answers } = await gatewayScene();
    const first = await gateway(["--verbose"]);
    expect(await ask("one")).toBe("You said: one");
    await first.logged(({ msg }) => msg === "delivered");
    first.signal("SIGKILL");
    await first.ended;
    await fake.say(chat, 7, "two");
    await gateway();
    await fake.untilAnswered(chat, 2);
    expect(await answers()).toEqual(["You said: one", "You said: two (before that: one)"]);
  });

  it("finishes the running answer before it shuts down", async () => {
    const { gateway, fake, chat, home, answers } = await gatewayScene();
    mkdirSync(home, { mode: 0o700 });
    const slow = scriptFile(home, [{ to: "slow", say: ["one ", { wait_ms: 1500 }, "two"] }]);
    const program = await gateway(["--agent", slow], { POSTRIDER_STREAMING: "false" });
    await fake.say(chat, 7, "slow please");
    await program.logged(({ msg }) => msg === "a turn started");
    expect(await stopped(program)).toMatchObject({ code: 0 });
    expect(await answers()).toEqual(["one two"]);
  });

  it("ends at once at the second Ctrl-C", async () => {
    const { gateway, fake, chat, home } = await gatewayScene();
    mkdirSync(home, { mode: 0o700 });
    const program = await gateway(["--agent", scriptFile(home, [{ to: "", say: [{ wait_ms: 600_000 }] }])]);
    await fake.say(chat, 7, "hello");
    await program.logged(({ msg }) => msg === "a turn started");
    program.signal("SIGINT");
    await program.logged(({ signal }) => signal === "SIGINT");
    program.signal("SIGINT");
    expect(await program.ended).toMatchObject({ code: 130 });
  });

  it("writes a readable log in a terminal, and shuts down at Ctrl-C", async () => {
    const { fake, home, ask } = await gatewayScene();
    const terminal = startPostrider(["gateway", "run"], {
      columns: 140,
      environment: {
        POSTRIDER_HOME: home,
        TELEGRAM_API_ROOT: fake.url,
        TELEGRAM_BOT_TOKEN: TOKEN,
        TELEGRAM_ALLOWED_USERS: "7",
      },
    });
    await terminal.waitFor(
      "The gateway is running on telegram with the agent echo. Press Ctrl-C to stop it.",
    );
    await terminal.waitFor(/INFO: connected \{"platform":"telegram"/);
    expect(await ask("hello")).toBe("You said: hello");
    terminal.press("ctrl-c");
    expect(await terminal.ended).toEqual({ code: 0, signal: 0 });
    expect(terminal.written()).not.toContain(SECRET);
  });

  it("explains how to set up a messenger if none is configured", async () => {
    const { runHere } = await gatewayScene();
    const { code, err } = await runHere(["gateway", "run"], { TELEGRAM_BOT_TOKEN: "" });
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("postrider connect telegram") });
  });

  it("refuses a broken configuration at the start, with its line", async () => {
    const { run, home } = await gatewayScene();
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "config.yaml"), "timezone: Nowhere/Atlantis\n");
    const { code, err } = await run(["gateway", "run"]);
    expect(code).toBe(1);
    expect(err).toMatch(/config\.yaml:1.*timezone/s);
  });

  it("moves the agents' folder of earlier versions out of the home, and logs it", async () => {
    const { gateway, ask, home } = await gatewayScene();
    mkdirSync(join(home, "workspace", "owner"), { recursive: true, mode: 0o700 });
    writeFileSync(join(home, "workspace", "owner", "plan"), "the plan");
    const program = await gateway();
    const told = await program.logged(({ msg }) => /out of the home/.test(String(msg)));
    expect(told.msg).toContain(`to ${home}.workspace`);
    expect(await ask("hello")).toBe("You said: hello");
    expect(readFileSync(join(`${home}.workspace`, "owner", "plan"), "utf8")).toBe("the plan");
    expect(readdirSync(home)).not.toContain("workspace");
    expect((await stopped(program)).code).toBe(0);
  });

  it("does not start without a workspace folder, and names the setting", async () => {
    const { runHere, home } = await gatewayScene();
    writeFileSync(`${home}.workspace`, "");
    const { code, err } = await runHere(["gateway", "run"]);
    expect(code).toBe(1);
    expect(err).toContain(`Cannot create the workspace folder ${home}.workspace (EEXIST)`);
    expect(err).toContain("Set tools.workspace");
  });

  it("keeps the previous configuration while config.yaml is broken, warns, and applies the repaired file", async () => {
    const { gateway, ask, home } = await gatewayScene();
    mkdirSync(home, { mode: 0o700 });
    const file = join(home, "config.yaml");
    writeFileSync(file, `platforms:\n  telegram:\n    token: "${TOKEN}"\n`, { mode: 0o600 });
    const program = await gateway([], { TELEGRAM_BOT_TOKEN: "" });
    writeFileSync(file, "platforms: [telegram\n");
    const told = await program.logged(
      ({ level, msg }) => level === "warn" && /config\.yaml/.test(String(msg)),
    );
    expect(told.msg).toContain("the previous configuration applies");
    expect(await ask("hello")).toBe("You said: hello");
    writeFileSync(
      file,
      `platforms:\n  telegram:\n    token: "4243:another-secret-token"\nlog:\n  level: debug\n`,
    );
    await program.logged(({ msg }) => msg === "the configuration changed");
    await program.logged(({ msg }) => /restart/.test(String(msg)));
    expect(await ask("and now?")).toMatch(/^You said: and now\?/);
    await program.logged(({ level }) => level === "debug");
    const { code, err } = await stopped(program);
    expect(code).toBe(0);
    expect(err).not.toContain("another-secret-token");
    expect(err).not.toContain(SECRET);
  });

  it("works beside a terminal chat in the same home", async () => {
    const { gateway, ask, home } = await gatewayScene();
    const program = await gateway();
    const asked = [ask("from the phone"), cli(home, "-q", "from the terminal")] as const;
    expect(await asked[0]).toBe("You said: from the phone");
    expect(await asked[1]).toMatchObject({ code: 0, out: "You said: from the terminal\n" });
    expect(await stopped(program)).toMatchObject({ code: 0 });
  });

  it("runs the hooks of the home, and continues if one fails", async () => {
    const { gateway, ask, home } = await gatewayScene();
    const hook = join(home, "hooks", "write");
    mkdirSync(hook, { recursive: true, mode: 0o700 });
    writeFileSync(join(hook, "hook.yaml"), "events: [gateway:startup, agent:end]\ncommand: ./write.sh\n", {
      mode: 0o600,
    });
    writeFileSync(join(hook, "write.sh"), `#!/bin/sh\ncat >> "${home}/told"\nexit 4\n`);
    chmodSync(join(hook, "write.sh"), 0o700);
    writeFileSync(join(home, "hooks", "open.mjs"), "");
    chmodSync(join(home, "hooks", "open.mjs"), 0o666);
    const program = await gateway();
    await program.logged(({ msg }) => /The hook open\.mjs is skipped/.test(String(msg)));
    expect(await ask("hello")).toBe("You said: hello");
    await program.logged(({ hook: name, event }) => name === "write" && event === "agent:end");
    const told = readFileSync(join(home, "told"), "utf8").trimEnd().split("\n");
    expect(told.map((line) => JSON.parse(line))).toEqual([
      { event: "gateway:startup", platforms: ["telegram"] },
      expect.objectContaining({ event: "agent:end", platform: "telegram", chat: "7", outcome: "done" }),
    ]);
    expect(await stopped(program)).toMatchObject({ code: 0 });
  });

  it("keeps running and reports the problem without the token when Telegram rejects the token", async () => {
    const { start, run, home } = await gatewayScene();
    const wrong = "4242:a-token-that-nobody-knows";
    const program = start(["gateway", "run"], { TELEGRAM_BOT_TOKEN: wrong });
    await program.logged(({ msg }) => msg === "the platform refused the connection");
    const { code, out } = await run(["gateway", "status"]);
    expect(code).toBe(0);
    expect(out).toMatch(/telegram +refused: Telegram does not accept the token/);
    const { err } = await stopped(program);
    expect(`${err}${everythingIn(home)}`).not.toContain("a-token-that-nobody-knows");
  });
});

describe("postrider gateway status and stop", () => {
  it("report that no gateway runs, with exit code 3", async () => {
    const home = testHome();
    expect(await home.run(["gateway", "status"])).toMatchObject({ code: 3, out: "No gateway runs.\n" });
    expect(await home.run(["gateway", "stop"])).toMatchObject({ code: 3, out: "" });
  });

  it("show the home channels from /sethome, otherwise from the configuration", async () => {
    const home = testHome();
    const environment = { TELEGRAM_HOME_CHANNEL: "42" };
    const { out } = await home.run(["gateway", "status"], { environment });
    expect(out).toMatch(/^home +telegram: Home \(42\), from the configuration$/m);
    const store = await sqliteStore({ file: join(home.folder, "postrider.db"), mode: "in-process" });
    await store.conversations.setHomeChannel({
      home: { platform: "telegram", chatId: "7", name: "Den" },
      now: 1,
    });
    await store.close();
    const json = await home.run(["gateway", "status", "--json"], { environment });
    expect(JSON.parse(json.out)).toMatchObject({
      home_channels: [{ platform: "telegram", chat_id: "7", name: "Den", from: "command" }],
    });
    writeFileSync(join(home.folder, "config.yaml"), "platforms: 7\n");
    const broken = await home.run(["gateway", "status"]);
    expect(broken.out).toMatch(/^home +telegram: Den/m);
    expect(broken.err).toContain("platforms");
  });

  it("list deliveries that keep failing with the reason, and so does explain", async () => {
    const home = testHome();
    const number = await home.fill(async ({ store, sessions }) => {
      const { id } = await sessions.create({ person: OWNER }, { id: "talk" });
      return asideDelivery(store, id, NOW - 3_600_000);
    });
    const about = `delivery ${number} to telegram 42`;
    const status = await home.run(["gateway", "status"]);
    expect(status.out).toContain(
      `keeps failing  ${about}, since 1h ago, attempts 1: Telegram said: Internal Server Error`,
    );
    const explained = await home.run(["explain", "talk"]);
    expect(explained.out).toMatch(
      new RegExp(`${about}: waiting, attempts 1, deferred since .*: Telegram said: Internal`),
    );
  });

  it("show the state of the gateway, and shut it down", async () => {
    const { gateway, run, runHere, ask } = await gatewayScene();
    const program = await gateway();
    expect(await ask("hello")).toBe("You said: hello");
    const status = await run(["gateway", "status", "--json"]);
    expect(status.code).toBe(0);
    expect(JSON.parse(status.out)).toEqual({
      running: true,
      since: expect.any(Number),
      pid: program.pid,
      host: localRunner().host,
      agent: "echo",
      trouble: null,
      platforms: [{ platform: "telegram", account: "4242", state: "connected" }],
      gateways: [expect.objectContaining({ kind: "gateway", name: null, pid: program.pid, turns: 0 })],
      home_channels: [],
      sessions_waiting: 0,
      deliveries_waiting: 0,
      deliveries_aside: [],
      processes_running: 0,
    });
    expect((await runHere(["gateway", "status"])).out).toMatch(/^running +since .*\nprocess +\d+ on /);
    expect(await run(["gateway", "stop"])).toMatchObject({
      code: 0,
      out: `The gateway has stopped (process ${program.pid}).\n`,
    });
    expect(await program.ended).toMatchObject({ code: 0 });
    expect(await runHere(["gateway", "status"])).toMatchObject({ code: 3 });
  });

  it.runIf(process.platform === "linux")(
    "report that the gateway runs but cannot write to a full disk",
    async () => {
      const { gateway, runHere, home, ask } = await gatewayScene();
      const program = await gateway();
      expect(await ask("hello")).toBe("You said: hello");
      // No file of the process can grow: for SQLite this is a full disk.
      execFileSync("prlimit", ["--pid", String(program.pid), "--fsize=0:"]);
      ageHeartbeats(home, 60_000);
      const { code, out } = await cliOnFullDisk(home, 0, "gateway", "status");
      expect(code).toBe(0);
      expect(out).toContain("It runs, but cannot write: the disk is full.");
      expect(out).toContain(`There is no space to write ${join(home, "postrider.db")}`);
      expect(out).toContain(`${program.pid} on ${localRunner().host}`);
      // With space again, the next heartbeat succeeds and clears the trouble.
      execFileSync("prlimit", ["--pid", String(program.pid), "--fsize=unlimited:"]);
      await vi.waitFor(async () => {
        const { trouble } = JSON.parse((await runHere(["gateway", "status", "--json"])).out);
        expect(trouble).toBeNull();
      }, 20_000);
      expect(await ask("still there?")).toBe("You said: still there? (before that: hello)");
    },
    60_000,
  );

  it.runIf(process.platform === "linux")("report that its process is stopped", async () => {
    const { gateway, run, home } = await gatewayScene();
    const program = await gateway();
    // A process that is stopped inside a transaction would keep its lock on the database.
    ageHeartbeats(home, 60_000, () => program.signal("SIGSTOP"));
    const { code, out } = await run(["gateway", "status", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      running: true,
      pid: program.pid,
      trouble: expect.stringContaining(`its process is stopped. To continue it: kill -CONT ${program.pid}`),
    });
  });

  it("report a time-out, and let the gateway finish", async () => {
    const { gateway, run, fake, chat, home, answers } = await gatewayScene();
    mkdirSync(home, { mode: 0o700 });
    const slow = scriptFile(home, [{ to: "", say: [{ wait_ms: 2500 }, "done"] }]);
    const program = await gateway(["--agent", slow]);
    await fake.say(chat, 7, "hello");
    await program.logged(({ msg }) => msg === "a turn started");
    expect(await run(["gateway", "stop", "--timeout", "0"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("has not ended within 0 seconds"),
    });
    expect(await program.ended).toMatchObject({ code: 0 });
    expect(await answers()).toEqual(["done"]);
  });

  /** A home whose gateway lease belongs to this runner. */
  async function homeHeldBy(runner: Partial<ReturnType<typeof localRunner>>) {
    const home = testHome();
    await home.run(["sessions", "list"]);
    const store = await sqliteStore({ file: home.database, mode: "in-process" });
    const other = { ...localRunner(), ...runner };
    const now = Date.now();
    await store.runners.recordHeartbeat({ runner: other, now });
    await store.runners.acquireLease({ name: "gateway", runner: other.id, ttlMs: 600_000, now });
    await store.close();
    return home;
  }

  it("never signal another process that has the pid of a crashed gateway", async () => {
    const bystander = spawn("sleep", ["600"]);
    onTestFinished(() => void bystander.kill("SIGKILL"));
    const home = await homeHeldBy({ pid: bystander.pid ?? 0, started: "1" });
    expect(await home.run(["gateway", "stop"], { now: Date.now() })).toMatchObject({ code: 3 });
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
    expect(bystander.kill(0)).toBe(true);
  });

  it("never signal a process for a gateway on another machine or in another container, and say where it runs", async () => {
    const bystander = spawn("sleep", ["600"]);
    onTestFinished(() => void bystander.kill("SIGKILL"));
    const home = await homeHeldBy({ pid: bystander.pid ?? 0, host: "elsewhere", started: "1" });
    const { code, err } = await home.run(["gateway", "stop"], { now: Date.now() });
    expect({ code, err }).toEqual({
      code: 5,
      err: expect.stringContaining("runs on another machine or in another container: elsewhere"),
    });
    expect(bystander.kill(0)).toBe(true);
    const contained = await homeHeldBy({ pid: bystander.pid ?? 0, boot: "b/pid:[1]", started: "1" });
    expect(await contained.run(["gateway", "stop"], { now: Date.now() })).toMatchObject({ code: 5 });
    expect(bystander.kill(0)).toBe(true);
  });
});
