import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { SETTINGS } from "../src/apps/config/settings.ts";
import { runCommand } from "./support/command.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
let home: string;
let project: string;
let file: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  home = join(temporary.path, "home");
  project = join(temporary.path, "project");
  file = join(home, "config.yaml");
  for (const folder of [home, project]) mkdirSync(folder, { mode: 0o700 });
  const before = process.cwd();
  process.chdir(project);
  onTestFinished(() => process.chdir(before));
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  readonly environment?: NodeJS.ProcessEnv;
  readonly input?: string;
  /** Node options before the CLI's file. */
  readonly node?: readonly string[];
  readonly killAfterMs?: number;
}

/** Runs the CLI until it exits, in the project's folder. */
function run(
  args: readonly string[],
  { environment = {}, input = "", node = [], killAfterMs }: RunOptions = {},
) {
  const env = { ...process.env, POSTRIDER_AGENT: "echo", POSTRIDER_HOME: home, ...environment };
  const child = spawn(process.execPath, [...node, BIN, ...args], { cwd: project, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => {
    out += data;
  });
  child.stderr.on("data", (data) => {
    err += data;
  });
  child.stdin.on("error", () => {}); // it may exit without reading
  child.stdin.end(input);
  return new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
}

/** Runs a command in this process, which is in the project's folder. */
function runHere(args: readonly string[], { environment = {}, input = "" }: RunOptions = {}) {
  return runCommand(home, args, { environment, input });
}

interface Shown {
  readonly files: readonly { readonly file: string; readonly found: boolean }[];
  readonly settings: readonly {
    readonly key: string;
    readonly value: unknown;
    readonly secret: boolean;
    readonly origin: { readonly from: string; readonly file: string | null; readonly line: number | null };
  }[];
}

async function shown(environment: NodeJS.ProcessEnv = {}): Promise<Shown> {
  const { code, out, err } = await runHere(["config", "show", "--json"], { environment });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

describe("postrider config", () => {
  it("shows the effective values with their origin, and no secret", async () => {
    writeFileSync(
      file,
      `# mine\ntimezone: Asia/Tokyo\nplatforms:\n  telegram:\n    token: "${TOKEN}"\nmodel:\n  base_url: https://ada:${TOKEN}@example.org/v1\n`,
      { mode: 0o600 },
    );
    writeFileSync(join(project, "postrider.yaml"), "profile: work\n");
    const environment = { SESSION_RESET_HOUR: "6", POSTRIDER_API_KEY: TOKEN };
    const { code, out } = await runHere(["config", "show", "--origin"], { environment });
    expect(code).toBe(0);
    const rows = out.split("\n").map((line) => line.split(/ {2,}/));
    expect(rows).toContainEqual(["timezone", "Asia/Tokyo", `${file}:2`]);
    expect(rows).toContainEqual(["profile", "work", `${join(project, "postrider.yaml")}:1`]);
    expect(rows).toContainEqual(["session_reset.at_hour", "6", "$SESSION_RESET_HOUR"]);
    expect(rows).toContainEqual(["session_reset.idle_minutes", "1440", "default"]);
    expect(rows).toContainEqual(["platforms.telegram.token", "********", `${file}:5`]);
    expect(rows).toContainEqual(["platforms.telegram.enabled", "true", "default"]);
    const { settings } = await shown(environment);
    expect(settings.find(({ key }) => key === "model.api_key")).toEqual({
      key: "model.api_key",
      value: "********",
      secret: true,
      origin: { from: "environment", file: null, line: null, variable: "POSTRIDER_API_KEY" },
    });
    expect(out + JSON.stringify(settings)).not.toContain(TOKEN);
  });

  it("sets and removes a value, and keeps the comments of the file", async () => {
    writeFileSync(file, "# My own.\nsession_reset:\n  at_hour: 6 # late\n");
    chmodSync(file, 0o644);
    expect(await runHere(["config", "set", "session_reset.at_hour", "5"])).toMatchObject({
      code: 0,
      err: "",
    });
    expect(await runHere(["config", "set", "platforms.telegram.allow", "[42, +1555]"])).toMatchObject({
      code: 0,
    });
    const secret = await runHere(["config", "set", "platforms.telegram.token", "-"], { input: `${TOKEN}\n` });
    expect(secret).toMatchObject({ code: 0 });
    expect(secret.out + secret.err).not.toContain(TOKEN);
    expect(readFileSync(file, "utf8")).toBe(
      `# My own.\nsession_reset:\n  at_hour: 5 # late\nplatforms:\n  telegram:\n    allow: [ "42", "+1555" ]\n    token: ${TOKEN}\n`.replace(
        TOKEN,
        `"${TOKEN}"`,
      ),
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await runHere(["config", "unset", "platforms.telegram.token"])).toMatchObject({ code: 0 });
    expect(await runHere(["config", "unset", "platforms.telegram.allow"])).toMatchObject({ code: 0 });
    expect(readFileSync(file, "utf8")).toBe("# My own.\nsession_reset:\n  at_hour: 5 # late\n");
    const again = await runHere(["config", "set", "session_reset.at_hour", "5", "--json"], {
      environment: { SESSION_RESET_HOUR: "7" },
    });
    expect(JSON.parse(again.out)).toMatchObject({ value: 5, changed: false });
    expect(again.err).toContain("SESSION_RESET_HOUR is set and overrides the file");
  });

  it.each([
    ["an invalid value", ["session_reset.at_hour", "24"], "from 0 to 23, not 24"],
    ["an unknown key", ["session_reset.athour", "4"], "did you mean session_reset.at_hour?"],
    ["a section", ["session_reset", "4"], "is a section; use one of session_reset.mode"],
    ["an invalid name", ["personalities.A B", "x"], "must be a name of lower-case letters"],
    ["a key inside a value", ["timezone.x", "UTC"], "is not a setting"],
    ["an unknown tool", ["tools.member", "[readFile]"], "did you mean read_file?"],
    ["a relative folder", ["tools.folder", "work"], "starting with / or ~/, not work"],
  ])("refuses %s and writes nothing", async (_, args, said) => {
    writeFileSync(file, "# as it is\ntimezone:   UTC\n", { mode: 0o600 });
    const { code, out, err } = await runHere(["config", "set", ...args]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(said);
    expect(readFileSync(file, "utf8")).toBe("# as it is\ntimezone:   UTC\n");
    expect(readdirSync(home).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  it("refuses a workspace folder inside the home, as a value and in a file", async () => {
    const inside = join(home, "work");
    const refused = await runHere(["config", "set", "tools.workspace", inside]);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(`${file}:2: tools.workspace must be outside Postrider's home ${home}`);
    expect(existsSync(file)).toBe(false);
    const other = join(project, "other.yaml");
    writeFileSync(other, `tools:\n  workspace: ${inside}\n`);
    const { code, out } = await runHere(["config", "check", other]);
    expect(code).toBe(1);
    expect(out).toContain(`${other}:2: tools.workspace must be outside`);
    expect(await runHere(["config", "set", "tools.workspace", `${home}.workspace`])).toMatchObject({
      code: 0,
    });
  });

  it("does not change a file with another error, and reports its line", async () => {
    writeFileSync(file, "timezone: UTC\nlog: { level: loud }\n", { mode: 0o600 });
    const { code, err } = await runHere(["config", "set", "timezone", "Asia/Tokyo"]);
    expect(code).toBe(1);
    expect(err).toContain(`${file}:2: log.level must be one of`);
    expect(readFileSync(file, "utf8")).toBe("timezone: UTC\nlog: { level: loud }\n");
    expect(await runHere(["config", "set", "log.level", "warn"])).toMatchObject({ code: 0 });
  });

  it("checks the files and the environment, and reports every problem with its position", async () => {
    expect(await runHere(["config", "check"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("No problems"),
    });
    writeFileSync(file, `platforms: { telegram: { token: ${TOKEN.replace(":", "-")} } }\n`);
    chmodSync(file, 0o644);
    writeFileSync(join(project, "postrider.yaml"), "acess: {}\naccess: { allow_all: true }\n");
    const environment = { TELEGRAM_ALLOW_ALL_USERS: "maybe" };
    const { code, out } = await runHere(["config", "check"], { environment });
    expect(code).toBe(1);
    expect(out.trimEnd().split("\n")).toEqual([
      expect.stringContaining("postrider.yaml:1: acess is not a setting; did you mean access?"),
      expect.stringContaining("postrider.yaml:2: access is not allowed in a project's file"),
      expect.stringContaining(
        "TELEGRAM_ALLOW_ALL_USERS (platforms.telegram.allow_all) must be true or false",
      ),
      expect.stringContaining("contains a secret and other users of this machine can read it"),
    ]);
    const one = await runHere(["config", "check", "postrider.yaml", "--json"]);
    expect(JSON.parse(one.out)).toMatchObject({
      ok: false,
      problems: [
        { line: 1, ignored: false },
        { line: 2, ignored: true },
      ],
    });
    expect(await runHere(["config", "check", "nowhere.yaml"])).toMatchObject({ code: 3 });
  });

  it("loses no value when several processes set values concurrently", async () => {
    const numbers = Array.from({ length: 8 }, (_, at) => at + 1);
    writeFileSync(file, "# kept\n", { mode: 0o600 });
    const ended = await Promise.all(
      numbers.map((number) => run(["config", "set", `personalities.p${number}`, `Number ${number}.`])),
    );
    expect(ended.map(({ code, err }) => ({ code, err }))).toEqual(numbers.map(() => ({ code: 0, err: "" })));
    const { settings } = await shown();
    const set = settings.filter(({ key }) => key.startsWith("personalities."));
    expect(new Map(set.map(({ key, value }) => [key, value]))).toEqual(
      new Map(numbers.map((number) => [`personalities.p${number}`, `Number ${number}.`])),
    );
    expect(readFileSync(file, "utf8")).toContain("# kept\n");
  });

  it("leaves the old or the new file when it is killed, and works afterwards", async () => {
    writeFileSync(file, "# kept\nprofile: p0\n", { mode: 0o600 });
    const began = performance.now();
    await run(["config", "set", "profile", "p0"]);
    const whole = performance.now() - began;
    // Towards the end, when the file is written.
    const rounds = schedule(4, 8);
    for (let round = 1; round <= rounds; round += 1) {
      const killAfterMs = whole * (0.5 + round / (2 * rounds - 1));
      await run(["config", "set", "profile", `p${round}`], { killAfterMs });
      expect(readFileSync(file, "utf8")).toMatch(/^# kept\nprofile: p\d\n$/);
    }
    expect(await run(["config", "set", "profile", "last"])).toMatchObject({ code: 0, err: "" });
    expect(readFileSync(file, "utf8")).toBe("# kept\nprofile: last\n");
    expect(readdirSync(home).toSorted()).toEqual(["config.lock", "config.yaml"]);
  });
});

describe("the terminal", () => {
  it("uses the configured time zone, hour, profile and scope", async () => {
    writeFileSync(
      file,
      "timezone: Asia/Tokyo\nprofile: work\ngroup_sessions_per_user: false\nreset_by_platform: { local: { mode: daily, at_hour: 23 } }\n",
      { mode: 0o600 },
    );
    const { code, out, err } = await run([], { input: "hello\n/where\n" });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("agent:work:local:dm:cli");
    expect(out).toContain("daily at 23:00 (Asia/Tokyo)");
    expect(out).not.toContain("minutes of silence");
    const explained = await runHere(["explain", "agent:work:local:dm:cli", "--json"]);
    expect(JSON.parse(explained.out)).toMatchObject({
      zone: "Asia/Tokyo",
      conversations: [{ policy: { mode: "daily", at_hour: 23 }, groups_per_user: false }],
    });
    expect((await runHere(["explain", "agent:work:local:dm:cli"])).out).toContain(
      "daily at 23:00 (Asia/Tokyo)",
    );
    const key = await runHere([
      "key",
      '{"platform":"telegram","chat_type":"group","chat_id":-1,"user_id":2}',
    ]);
    expect(key.out).toMatch(/^agent:work:telegram:group:-1\n/);
  });

  it("does not start with an invalid configuration, and reports every problem", async () => {
    writeFileSync(file, "log: { level: loud }\nprofile: A\n", { mode: 0o600 });
    const { code, out, err } = await runHere(["-q", "hello"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("The configuration has 2 problems:");
    expect(err).toContain(`${file}:1: log.level`);
    expect(err).toContain(`${file}:2: profile`);
    const json = await runHere(["-q", "hello", "--json"]);
    expect(JSON.parse(json.err)).toMatchObject({
      error: { code: "invalid_config", details: { problems: [{ line: 1 }, { line: 2 }] } },
    });
  });

  it("ignores settings that a project's file may not contain, and reports them", async () => {
    writeFileSync(join(project, "postrider.yaml"), "access: { allow_all: true }\n");
    const { code, out, err } = await run(["-q", "hello"]);
    expect({ code, out }).toEqual({ code: 0, out: "You said: hello\n" });
    expect(err).toContain("access is not allowed in a project's file");
  });

  it.each([
    [[], "nothing is configured", { environment: {} }, ["-q", "hello"]],
    [[], "only messengers are configured", { environment: { TELEGRAM_BOT_TOKEN: TOKEN } }, ["-q", "hello"]],
    [[], "it only lists sessions", { environment: { POSTRIDER_TIMEZONE: "UTC" } }, ["sessions", "list"]],
    [["zod"], "a time zone is configured", { environment: { POSTRIDER_TIMEZONE: "UTC" } }, ["-q", "hello"]],
    [["yaml", "zod"], "a file sets it", { environment: {}, text: "timezone: UTC\n" }, ["-q", "hello"]],
  ])("loads only %j to read the configuration if %s", async (readers, _, given, args) => {
    const { environment } = given;
    if ("text" in given) writeFileSync(file, given.text, { mode: 0o600 });
    const watching = `import { registerHooks } from "node:module"; registerHooks({ resolve(name, context, next) {
      if (/^(?:zod|yaml)$/.test(name)) process.stderr.write("loaded " + name + "\\n"); return next(name, context); } });`;
    const node = ["--import", `data:text/javascript,${encodeURIComponent(watching)}`];
    const { code, err } = await run(args, { environment, node });
    expect(code).toBe(0);
    const loaded = new Set([...err.matchAll(/^loaded (\w+)$/gm)].map(([, name]) => name));
    expect([...loaded].sort()).toEqual(readers);
  });
});

describe("docs/configuration.md", () => {
  const page = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8");
  const rows = page.split("\n").flatMap((line) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("`", ""));
    return line.startsWith("| `") && cells.length === 6 ? [cells.slice(1, 4)] : [];
  });

  it("lists every setting with its variable and default, and nothing else", () => {
    const plain = (text: string, name: string): string =>
      name === "" ? text : text.replace(new RegExp(`\\.${name}(?=\\.|$)`), ".PLATFORM");
    const expected = new Map<string, readonly [variable: string, value: string]>();
    for (const { key, variable = "", default: value } of SETTINGS) {
      const [section = "", name = ""] = key.replace("tools.by_platform", "tools_by_platform").split(".");
      const isOwn = section === "platforms" && /\.(?:enabled|token|require_mention|reply_to)$/.test(key);
      const isEach = (section === "platforms" && !isOwn) || section.endsWith("_by_platform");
      const each = plain(key.replace("*", section === "reset_by_type" ? "TYPE" : "NAME"), isEach ? name : "");
      const named = isEach ? variable.replace(name.toUpperCase(), "PLATFORM") : variable;
      const shown = value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value);
      expected.set(each, [named, shown]);
    }
    const overrides = [...expected.keys()].filter((key) => /^reset_by_/.test(key));
    for (const key of overrides) expected.delete(key);
    expect(Object.fromEntries(rows.map(([key = "", ...rest]) => [key, rest]))).toEqual(
      Object.fromEntries(expected),
    );
  });

  it("has examples that are valid", async () => {
    const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
    expect(examples.length).toBeGreaterThan(0);
    for (const text of examples) {
      writeFileSync(join(project, "example.yaml"), text);
      expect(await runHere(["config", "check", "example.yaml"])).toMatchObject({ code: 0 });
    }
  });
});
