import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../src/index.ts";
import { AGENT_MARK, isKeeperDescendant, PS_ARGUMENTS } from "../src/processes/agent-mark.ts";
import { buildChildEnvironment } from "../src/processes/child-environment.ts";
import { terminalTool } from "../src/tools/terminal.ts";
import type { ToolContext } from "../src/tools/tool-context.ts";
import { cli } from "./support/cli.ts";
import { temporaryFolder } from "./support/folder.ts";
import { keeperRoom, pause } from "./support/keeper-room.ts";
import { called } from "./support/tool-context.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const REFUSED = /postrider: An agent's tool started this command\. .* Run it yourself/;

interface Room {
  readonly home: string;
  /** The shell command that runs the CLI in this home. */
  readonly postrider: string;
  readonly work: string;
  /** The command as the agent's tool runs it. */
  terminal(command: string, more?: Readonly<Record<string, unknown>>): ReturnType<typeof called>;
  config(): string;
  keeperPid(): Promise<number | undefined>;
}

/** A home with its real keeper and the tool `terminal`, without an approval in between. */
async function room(environment = buildChildEnvironment(process.env)): Promise<Room> {
  const keeper = await keeperRoom();
  const { store, processes, home } = keeper;
  const folder = temporaryFolder();
  onTestFinished(folder.remove);
  const work = join(folder.path, "work");
  mkdirSync(work);
  const { session, conversation, target } = keeper.input("");
  const context: ToolContext = {
    store,
    clock: systemClock,
    processes,
    session,
    conversation,
    target,
    asker: { person: "owner" },
    role: "owner",
    owner: "owner",
    profile: "main",
    cwd: work,
    allowedFolders: [work],
    deniedFolders: [home.folder],
    environment,
    secrets: [],
    timeoutMs: 30_000,
    watchMode: "off",
  };
  return {
    home: home.folder,
    postrider: `POSTRIDER_HOME=${home.folder} ${process.execPath} ${BIN}`,
    work,
    keeperPid: keeper.keeperPid,
    terminal: (command, more) => called(terminalTool(context), { command, ...more }),
    config: () => {
      const file = join(home.folder, "config.yaml");
      return existsSync(file) ? readFileSync(file, "utf8") : "";
    },
  };
}

describe("a command that an agent's tool starts", () => {
  it.each([
    ["config set", "config set access.allow_all true"],
    ["config set", "config set tools.member all"],
    ["pair link", "pair link"],
    ["sessions search", "sessions search hello --everyone"],
    ["sessions list", "sessions list"],
    ["the chat", "-q hello --agent echo"],
  ])("cannot administer Postrider: %s", async (_, args) => {
    const { terminal, postrider, config } = await room();
    const { text, failed } = await terminal(`${postrider} ${args}`);
    expect(text).toMatch(REFUSED);
    expect(text).toContain("It ended with code 5");
    expect(failed).toBe(true);
    expect(config()).toBe("");
  });

  it("gets the reason as JSON, with its own error code", async () => {
    const { terminal, postrider } = await room();
    const { text } = await terminal(`${postrider} sessions list --json`);
    expect(JSON.parse(text.split("\n")[0] ?? "")).toMatchObject({ error: { code: "run_by_agent" } });
  });

  it.each([
    ["env -i", (line: string) => `env -i ${line}`],
    ["bash -c", (line: string) => `bash -c 'bash -c "env -i ${line}; true"'`],
    ["setsid", (line: string) => `setsid --wait env -i ${line}`],
    ["a terminal by script", (line: string) => `script -qec "env -i ${line}" /dev/null`],
  ])("cannot bypass the check with %s", async (_, wrapped) => {
    const { terminal, postrider, config } = await room();
    const { text } = await terminal(wrapped(`${postrider} config set access.allow_all true`));
    expect(text).toMatch(REFUSED);
    expect(config()).toBe("");
  });

  it("cannot bypass the check in a pseudo-terminal", async () => {
    const { terminal, postrider, config } = await room();
    const { text } = await terminal(`env -i ${postrider} config set access.allow_all true`, { pty: true });
    expect(text.replaceAll(/\s+/g, " ")).toMatch(REFUSED);
    expect(config()).toBe("");
  });

  it.each([
    ["nohup", "(nohup sh act.sh &)", {}],
    ["setsid and an empty environment", "setsid -f env -i sh act.sh", {}],
    ["setsid, from a terminal", "setsid -f env -i sh act.sh", { pty: true }],
  ])("cannot bypass the check after its parent processes have ended: %s", async (_, start, how) => {
    const { terminal, postrider, config, work } = await room();
    const act = `while [ ! -e go ]; do sleep 0.02; done
${postrider} config set access.allow_all true >said 2>&1
touch over`;
    writeFileSync(join(work, "act.sh"), act);
    // No open file leads back to the process that started it.
    await terminal(`${start} </dev/null >/dev/null 2>&1`, how);
    writeFileSync(join(work, "go"), "");
    while (!existsSync(join(work, "over"))) await pause();
    expect(readFileSync(join(work, "said"), "utf8")).toMatch(REFUSED);
    expect(config()).toBe("");
  });

  it("inherits the agent mark from the environment of the keeper", async () => {
    const { terminal, keeperPid } = await room();
    await terminal("true");
    const environment = readFileSync(`/proc/${await keeperPid()}/environ`, "utf8").split("\0");
    expect(environment).toContain(`${AGENT_MARK}=1`);
  });

  it("is found by the output of ps if the system has no other source", async () => {
    const { terminal } = await room();
    const { text } = await terminal(`echo $$; ps ${PS_ARGUMENTS.join(" ")}`);
    const [shell, ...listing] = text.split("\n");
    expect(isKeeperDescendant(listing.join("\n"), Number(shell))).toBe(true);
    expect(isKeeperDescendant(listing.join("\n"), process.pid)).toBe(false);
    expect(isKeeperDescendant("", process.pid)).toBe(false);
  });

  it("can read what is not private: the version, the help, a key, and the gateway's status", async () => {
    const { terminal, postrider } = await room();
    for (const args of ["--version", "config set --help", "help pair link", "key --help"])
      expect(await terminal(`${postrider} ${args}`)).toMatchObject({ failed: false });
    expect((await terminal(`${postrider} gateway status`)).text).toContain("It ended with code 3");
    // An argument after two dashes is no option.
    expect((await terminal(`${postrider} sessions search --everyone -- --help`)).text).toMatch(REFUSED);
  });
});

describe("a person in their own shell", () => {
  it("can administer Postrider while the same keeper runs", async () => {
    const { terminal, home, config } = await room();
    await terminal("true");
    expect(await cli(home, "config", "set", "access.allow_all", "true")).toMatchObject({ code: 0, err: "" });
    expect(config()).toContain("allow_all: true");
  });
});
