import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type FakeTelegram, startFakeTelegram } from "../../src/testing/fake-telegram/index.ts";
import type { CliEnded } from "./cli.ts";
import { type Ran, runCommand } from "./command.ts";
import { temporaryFolder } from "./folder.ts";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

/** Long enough to be detected as a secret. */
export const TOKEN = "4242:AAE-x_abcdefghijklmnopqrstuvwxyz12";
export const SECRET: string = TOKEN.split(":")[1] ?? "";

export type LogLine = Readonly<Record<string, unknown>>;

/** A `postrider` child process whose log is read line by line. */
export interface GatewayProgram {
  readonly pid: number;
  /** The first past or future log line that matches. Rejects if the process exits without it. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** The same for all of stderr. */
  noted(pattern: RegExp): Promise<RegExpExecArray>;
  signal(signal: NodeJS.Signals): void;
  readonly ended: Promise<CliEnded>;
}

export interface GatewayScene {
  readonly fake: FakeTelegram;
  readonly home: string;
  /** Ada's direct chat with the bot. She has access by default. */
  readonly chat: number;
  start(args: readonly string[], environment?: NodeJS.ProcessEnv): GatewayProgram;
  /** Runs the CLI until it exits. */
  run(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<CliEnded>;
  /** Runs the CLI in this process. */
  runHere(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Ran>;
  /** Starts a gateway and waits until it receives messages. */
  gateway(args?: readonly string[], environment?: NodeJS.ProcessEnv): Promise<GatewayProgram>;
  /** Sends the text and returns the bot's next message. */
  ask(text: string): Promise<string>;
  /** The bot's messages to Ada. */
  answers(): Promise<readonly string[]>;
}

export const ADA = 7;

/** Uses the given home, or a new one. */
export async function gatewayScene(given?: string): Promise<GatewayScene> {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const home = given ?? join(folder.path, "home");
  const fake = await startFakeTelegram({ accounts: [{ token: TOKEN, username: "fake_bot" }] });
  onTestFinished(() => fake.close());
  await fake.addUser({ id: ADA, firstName: "Ada" });
  const chat = await fake.openDm(ADA);
  const around = {
    ...process.env,
    POSTRIDER_HOME: home,
    TELEGRAM_API_ROOT: fake.url,
    TELEGRAM_BOT_TOKEN: TOKEN,
    TELEGRAM_ALLOWED_USERS: String(ADA),
  };
  const start = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): GatewayProgram =>
    startProgram(args, { ...around, ...environment }, folder.path);
  const answers = async (): Promise<readonly string[]> =>
    (await fake.messages(chat)).filter(({ by }) => by === "bot").map(({ text }) => text);
  return {
    fake,
    home,
    chat,
    start,
    run: (args, environment) => start(args, environment).ended,
    runHere: (args, environment) => runCommand(home, args, { environment: { ...around, ...environment } }),
    async gateway(args = [], environment = {}) {
      const program = start(["gateway", "run", ...args], environment);
      await Promise.race([program.logged(({ msg }) => msg === "connected"), program.ended]);
      return program;
    },
    async ask(text) {
      const before = (await answers()).length;
      await fake.say(chat, ADA, text);
      await fake.untilAnswered(chat, before + 1);
      return (await answers())[before] ?? "";
    },
    answers,
  };
}

function startProgram(args: readonly string[], environment: NodeJS.ProcessEnv, cwd: string): GatewayProgram {
  const child = spawn(process.execPath, [BIN, ...args], { env: environment, cwd });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [out, err] = ["", ""];
  let hasEnded = false;
  const lines: LogLine[] = [];
  const looks = new Set<() => void>();
  const look = (): void => {
    for (const one of [...looks]) one();
  };
  child.stdin.end();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    look();
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (!line.startsWith("{")) return;
    lines.push(JSON.parse(line) as LogLine);
    look();
  });
  const ended = new Promise<CliEnded>((resolve) => {
    child.on("close", (code, signal) => {
      hasEnded = true;
      look();
      resolve({ code, signal, out, err });
    });
  });
  const until = <Found>(find: () => Found | undefined): Promise<Found> =>
    new Promise((resolve, reject) => {
      const one = (): void => {
        const found = find();
        if (found === undefined && !hasEnded) return;
        looks.delete(one);
        if (found !== undefined) resolve(found);
        else reject(new Error(`the process ended without this:\n${out}\n${err}`));
      };
      looks.add(one);
      one();
    });
  return {
    get pid() {
      if (child.pid === undefined) throw new Error("the process did not start");
      return child.pid;
    },
    logged: (fits) => until(() => lines.find(fits)),
    noted: (pattern) => until(() => pattern.exec(err) ?? undefined),
    signal: (signal) => void child.kill(signal),
    ended,
  };
}
