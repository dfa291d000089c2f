import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { runProgram, startProgram } from "./support/program.ts";
import { schedule } from "./support/schedule.ts";
import { startPostrider } from "./support/terminal.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const KEEPER = fileURLToPath(new URL("../src/apps/keeper.ts", import.meta.url));
const STUBBORN = fileURLToPath(new URL("signals/stubborn.ts", import.meta.url));

/** Start-up, loading modules, opening the database, work, the end of a short command. */
const MOMENTS = schedule([0, 100, 300], [0, 50, 100, 150, 200, 300, 450, 700, 1000]);
/** No answer is in progress here: a normal shutdown takes a fraction of this. */
const BOUND_MS = 8000;
/** Never answers: a process that waits for the answer still ends. */
const SILENT_SCRIPT = { answers: [{ to: "", say: [{ wait_ms: 600_000 }] }] };

describe("SIGTERM ends, at any moment,", { timeout: 120_000 }, () => {
  it.each([
    ["an editor's agent", ["acp", "--agent", "echo"]],
    ["a pipe that waits for a line", ["--agent", "echo"]],
    ["a question without an answer yet", ["-q", "hello", "--agent", "script:SCRIPT"]],
    ["a gateway that cannot reach its messenger", ["gateway", "run", "--agent", "echo"]],
    ["a followed log", ["tail", "-f"]],
    ["a list of sessions", ["sessions", "list"]],
    ["an export", ["sessions", "export"]],
    ["a backup", ["backup"]],
    ["a check of the home", ["doctor"]],
    ["help", ["--help"]],
  ])("%s", async (_name, args) => {
    const { home, folder } = await createHome();
    const given = args.map((word) => word.replace("SCRIPT", join(folder, "script.json")));
    for (const ms of MOMENTS)
      expect({ ms, end: await endBySigterm([BIN, ...given], home, ms) }).toEqual({ ms, end: "ended" });
  });

  it("the keeper of a home", async () => {
    const { home } = await createHome();
    for (const ms of MOMENTS)
      expect({ ms, end: await endBySigterm([KEEPER, home], home, ms) }).toEqual({ ms, end: "ended" });
  });

  it("the chat in a terminal", async () => {
    const { home, folder } = await createHome();
    for (const ms of MOMENTS) {
      const terminal = startPostrider([], { environment: { POSTRIDER_HOME: home }, folder });
      await pause(ms);
      terminal.kill("SIGTERM");
      const end = await Promise.race([terminal.ended.then(() => "ended"), pause(BOUND_MS)]);
      expect({ ms, end }).toEqual({ ms, end: "ended" });
    }
  });
});

describe("SIGTERM during an answer", () => {
  it.each([
    ["to a question", ["-q", "story"]],
    ["in a pipe", []],
  ])("%s keeps the messages, and nothing is answered again at the next start", async (_name, args) => {
    const { home, folder } = await createHome();
    const file = join(folder, "half.json");
    const say = [
      "Half an ans",
      { tool: "wait", effect: "external", result: "" },
      "And ",
      { wait_ms: 600_000 },
      "wer",
    ];
    writeFileSync(file, JSON.stringify({ answers: [{ to: "story", say }] }));
    const program = startProgram(home, [...args, "--agent", `script:${file}`]);
    onTestFinished(() => program.kill());
    if (args.length === 0) program.say(["story"]);
    await until(() => readStored(home).includes("Half an ans"));
    program.signal("SIGTERM");
    expect(await program.ended).toMatchObject({ code: 143 });
    const { err } = await runProgram(home, "--agent", "echo");
    expect(err).not.toContain("Answer to a message from an earlier run");
    expect(readStored(home)).toContain('"interrupted":true');
  });
});

describe("a shutdown that does not finish", () => {
  it("is forced by a second SIGTERM, with exit code 143", async () => {
    const program = await startStubborn("60000");
    program.child.kill("SIGTERM");
    await program.printed("SIGTERM");
    // A wrapper may forward a signal that the process got at the same time: that is no second request.
    program.child.kill("SIGTERM");
    await pause(700);
    expect(program.child.exitCode).toBe(null);
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(143);
  });

  it("is forced by a second Ctrl-C at once, with exit code 130", async () => {
    const program = await startStubborn("60000");
    program.child.kill("SIGINT");
    await program.printed("SIGINT");
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(130);
  });

  it("is forced by its time limit, with exit code 143", async () => {
    const program = await startStubborn("300");
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(143);
  });
});

async function createHome(): Promise<{ readonly home: string; readonly folder: string }> {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  const home = join(temporary.path, "home");
  expect(await runProgram(home, "sessions", "list")).toMatchObject({ code: 0 });
  expect(existsSync(join(home, "postrider.db"))).toBe(true);
  writeFileSync(join(temporary.path, "script.json"), JSON.stringify(SILENT_SCRIPT));
  return { home, folder: temporary.path };
}

/** Its input stays open and its output is read, so that only the signal ends it. */
async function endBySigterm(command: readonly string[], home: string, ms: number): Promise<string> {
  const child = spawn(process.execPath, command, {
    env: {
      ...process.env,
      POSTRIDER_HOME: home,
      TELEGRAM_API_ROOT: "http://127.0.0.1:9",
      TELEGRAM_BOT_TOKEN: "4242:AAE-x_abcdefghijklmnopqrstuvwxyz12",
    },
  });
  child.stdout.resume();
  child.stderr.resume();
  const ended = waitForExit(child);
  onTestFinished(() => void child.kill("SIGKILL"));
  await pause(ms);
  child.kill("SIGTERM");
  return Promise.race([ended.then(() => "ended"), pause(BOUND_MS).then(() => "still running")]);
}

async function startStubborn(limitMs: string) {
  const child = spawn(process.execPath, [STUBBORN, limitMs], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = waitForExit(child);
  let out = "";
  child.stdout.setEncoding("utf8");
  const printed = async (text: string): Promise<void> => {
    while (!out.includes(text))
      out += await new Promise<string>((resolve) => child.stdout.once("data", resolve));
  };
  await printed("ready");
  return { child, ended, printed };
}

function waitForExit(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on("exit", (code) => resolve(code)));
}

/** Every message as it is stored. */
function readStored(home: string): string {
  return look(join(home, "postrider.db"), (db) =>
    JSON.stringify(db.prepare("select * from messages").all()),
  ).replaceAll('\\"', '"');
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(20);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
