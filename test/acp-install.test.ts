import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type CliEnded, startCli } from "./support/cli.ts";
import { temporaryFolder } from "./support/folder.ts";

/** A home directory with the settings files of the editors. */
let person: string;
let zed: string;
let jetbrains: string;
/** Additional environment variables. */
let shell: Record<string, string>;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  person = temporary.path;
  zed = join(person, ".config", "zed", "settings.json");
  jetbrains = join(person, ".jetbrains", "acp.json");
  shell = {};
});

function install(...args: readonly string[]): Promise<CliEnded> {
  const variables = Object.entries({ HOME: person, ...shell }).map(([name, value]) => `${name}=${value}`);
  const clean = ["env", "-u", "POSTRIDER_HOME", "-u", "XDG_CONFIG_HOME", ...variables];
  const { process: child, ended } = startCli("", ["acp", "install", ...args], (command) => [
    ...clean,
    ...command,
  ]);
  child.stdin.end();
  return ended;
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o644 });
}

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function serverIn(text: string, name = "Postrider"): Server {
  const { agent_servers } = JSON.parse(text) as { agent_servers: Record<string, Server> };
  const server = agent_servers[name];
  if (server === undefined) throw new Error(`there is no ${name} in ${text}`);
  return server;
}

describe("postrider acp install", () => {
  it("prints only the snippet on stdout, names the file on stderr, and writes nothing", async () => {
    const { code, out, err } = await install("zed");
    expect(code).toBe(0);
    expect(serverIn(out)).toEqual({
      type: "custom",
      command: process.execPath,
      args: [resolve("bin/postrider.mjs"), "acp"],
      env: {},
    });
    expect(err).toContain(zed);
    expect(err).toContain("--write");
    expect(readdirSync(person)).toEqual([]);
  });

  it("prints a command that starts in an empty environment, from any folder", async () => {
    const { command, args } = serverIn((await install("jetbrains")).out);
    const { status, stdout } = spawnSync(command, [args[0] ?? "", "--version"], {
      cwd: "/",
      env: { PATH: "" },
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it("passes on a custom home, --all and --agent, and no key of the shell", async () => {
    shell = { POSTRIDER_HOME: join(person, "other"), ANTHROPIC_API_KEY: "very-secret" };
    const given = ["--all", "--agent", "script:answers.json", "--name", "My agent"];
    const { out, err } = await install("zed", ...given);
    expect(serverIn(out, "My agent")).toMatchObject({
      args: [expect.any(String), "acp", "--all", "--agent", `script:${resolve("answers.json")}`],
      env: { POSTRIDER_HOME: join(person, "other") },
    });
    expect(out + err).not.toContain("very-secret");
    shell.POSTRIDER_HOME = join(person, ".postrider");
    expect(serverIn((await install("zed")).out).env).toEqual({});
  });

  it.each(["zed", "jetbrains"])(
    "creates the file of %s if there is none, readable only by its owner",
    async (editor) => {
      const file = editor === "zed" ? zed : jetbrains;
      const { code, out } = await install(editor, "--write");
      expect({ code, out }).toEqual({ code: 0, out: `"Postrider" was added to ${file}.\n` });
      expect(readFileSync(file, "utf8")).toBe((await install(editor)).out);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
      expect(readdirSync(dirname(file))).toEqual([basename(file)]);
      // Does not create the home: the first start does.
      expect(existsSync(join(person, ".postrider"))).toBe(false);
    },
  );

  it("adds the entry to settings with comments and trailing commas, which stay, and finds it the next time", async () => {
    const top = `// Zed settings\n{\n  "theme": "One Dark", // dark\n  "agent_servers": {\n    "Other": { "command": "o", }, /* mine */`;
    const end = "\n  },\n}\n";
    write(zed, top + end);
    expect((await install("zed", "--write")).code).toBe(0);
    const text = readFileSync(zed, "utf8");
    expect(text.startsWith(`${top}\n    "Postrider": {\n`) && text.endsWith(`\n    },${end}`)).toBe(true);
    expect(statSync(zed).mode & 0o777).toBe(0o644);
    const before = statSync(zed, { bigint: true });
    const again = await install("zed", "--write");
    expect(again).toMatchObject({ code: 0, out: `"Postrider" is already in ${zed}.\n` });
    expect(statSync(zed, { bigint: true })).toMatchObject({ ino: before.ino, mtimeNs: before.mtimeNs });
  });

  it("replaces a different entry of that name only with --force, and keeps its other fields", async () => {
    const old = `{\n  "agent_servers": {\n    "Postrider": { "command": "/old/node", "args": [], "env": { "KEY": "very-secret" } }\n  }\n}\n`;
    write(jetbrains, old);
    const refused = await install("jetbrains", "--write");
    expect(refused).toMatchObject({ code: 5, out: "" });
    expect(refused.err).toContain(`${jetbrains}:3`);
    expect(refused.err).toContain("command, args");
    expect(refused.err).toContain("--force");
    expect(refused.err).not.toContain("very-secret");
    expect(readFileSync(jetbrains, "utf8")).toBe(old);
    expect((await install("jetbrains", "--write", "--name", "Second")).code).toBe(0);
    const forced = await install("jetbrains", "--write", "--force");
    expect(forced).toMatchObject({ code: 0, out: `"Postrider" was replaced in ${jetbrains}.\n` });
    const text = readFileSync(jetbrains, "utf8");
    expect(serverIn(text)).toEqual({ ...serverIn(text, "Second"), env: { KEY: "very-secret" } });
  });

  it("does not change a file with a syntax error, and reports its position", async () => {
    const broken = '{\n  // mine\n  "a": 1\n  "b": 2\n}\n';
    write(zed, broken);
    const { code, out, err } = await install("zed", "--write");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(`${zed}:4:3: comma expected. Nothing was written`);
    expect(readFileSync(zed, "utf8")).toBe(broken);
    const { error } = JSON.parse((await install("zed", "--write", "--json")).err) as { error: object };
    expect(error).toMatchObject({ code: "invalid_config", details: { file: zed, line: 4, column: 3 } });
  });

  it("follows XDG_CONFIG_HOME and a symbolic link to the settings", async () => {
    shell = { XDG_CONFIG_HOME: join(person, "xdg") };
    const kept = join(person, "dotfiles", "zed.json");
    write(kept, "{\n}\n");
    mkdirSync(join(person, "xdg", "zed"), { recursive: true });
    const link = join(person, "xdg", "zed", "settings.json");
    symlinkSync(kept, link);
    expect((await install("zed", "--write")).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(serverIn(readFileSync(kept, "utf8")).command).toBe(process.execPath);
    expect(readdirSync(dirname(kept))).toEqual(["zed.json"]);
  });

  it("prints Lua for Neovim, and refuses to write it", async () => {
    const { code, out } = await install("neovim");
    expect(code).toBe(0);
    expect(out).toMatch(/^-- CodeCompanion\n[\s\S]*\n-- avante\.nvim\n/);
    const refused = await install("neovim", "--write");
    expect(refused).toMatchObject({ code: 5, out: "", err: expect.stringContaining("your own code") });
    expect(readdirSync(person)).toEqual([]);
  });

  it("reports the result as JSON", async () => {
    const told = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await install("jetbrains", "--json", ...args)).out);
    const snippet = (await install("jetbrains")).out;
    const all = { editor: "jetbrains", name: "Postrider", file: jetbrains, snippet, ...serverIn(snippet) };
    expect(await told()).toEqual({ ...all, written: false });
    expect(await told("--write")).toEqual({ ...all, written: true });
    expect(await told("--write")).toEqual({ ...all, written: false });
  });

  const mistakes: readonly [args: readonly string[], says: string][] = [
    [["zde"], "Did you mean zed? Known editors: zed, jetbrains, neovim"],
    [["nvim"], "Did you mean neovim?"],
    [["pycharm"], "Did you mean jetbrains?"],
    [["emacs"], "Known editors: zed, jetbrains, neovim"],
    [[], "takes EDITOR"],
    [["zed", "--force"], "--force goes with --write"],
    [["zed", "--name", " "], "--name must be"],
    [["zed", "--agent", ""], "--agent needs a name"],
  ];
  it.each(mistakes)("explains the mistake in %j", async (args, says) => {
    const { code, out, err } = await install(...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(says);
  });
});
