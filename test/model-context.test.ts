import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { chooseAgent } from "../src/apps/choose-agent.ts";
import { readMachine } from "../src/apps/machine.ts";
import { DEFAULT_TOOLS } from "../src/core/tool-settings.ts";
import { buildRouting, createSessions, OWNER, sqliteStore, systemClock } from "../src/index.ts";
import { editorRoom } from "./acp/editor-room.ts";
import { runCommand } from "./support/command.ts";
import { temporaryFolder } from "./support/folder.ts";
import { type GatewayScene, gatewayScene } from "./support/gateway-program.ts";
import { type Asked, type ModelServer, modelServer } from "./support/model-server.ts";
import { settings } from "./support/routing.ts";
import { startPostrider } from "./support/terminal.ts";

/** 25 hours apart: at any moment at least one of them has another date than UTC. */
const ZONES = ["Pacific/Kiritimati", "Pacific/Pago_Pago"] as const;
const [EAST, WEST] = ZONES;
const NO_MODEL = {
  POSTRIDER_AGENT: undefined,
  POSTRIDER_MODEL: undefined,
  ANTHROPIC_API_KEY: undefined,
  OPENAI_API_KEY: undefined,
  OPENROUTER_API_KEY: undefined,
};

/** The system text of a request, in the order of the request. */
function toldIn(asked: Asked | undefined): string {
  const texts = (asked?.messages ?? [])
    .filter(({ role }) => role === "system" || role === "developer")
    .flatMap(({ content }) =>
      typeof content === "string"
        ? [content]
        : (content as { readonly text: string }[]).map(({ text }) => text),
    );
  return texts.join("\n\n");
}

const lastTold = ({ requests }: ModelServer): string => toldIn(requests.at(-1)?.body);

/** The date in this zone, from the platform's own formatter. */
function todayIn(zone: string): string {
  const day = (options: Intl.DateTimeFormatOptions, locale: string): string =>
    new Intl.DateTimeFormat(locale, { timeZone: zone, ...options }).format(new Date());
  const date = day({ year: "numeric", month: "2-digit", day: "2-digit" }, "en-CA");
  return `Today is ${day({ weekday: "long" }, "en-US")}, ${date} (${zone}).`;
}

/** Checks the date; the day may change during the request. */
async function expectToday(zone: string, ask: () => Promise<string>): Promise<string> {
  const before = todayIn(zone);
  const told = await ask();
  expect([before, todayIn(zone)]).toContain(/^Today is .*$/m.exec(told)?.[0]);
  return told;
}

function expectOrder(told: string, ...parts: readonly string[]): void {
  const places = parts.map((part) => told.indexOf(part));
  expect(places, told).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
}

const { system, shell } = readMachine();
const commandsIn = (folder: string): string =>
  `Commands run on ${system} with ${shell} in the folder ${folder}.`;

let home: string;
let folder: string;
let server: ModelServer;

beforeEach(async () => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  home = join(realpathSync(temporary.path), "home");
  folder = join(realpathSync(temporary.path), "project");
  mkdirSync(join(folder, ".git"), { recursive: true });
  server = await modelServer({ say: ["Fine."] });
});

function configure(yaml: string, where = home): void {
  mkdirSync(where, { recursive: true, mode: 0o700 });
  writeFileSync(join(where, "config.yaml"), yaml, { mode: 0o600 });
}

const environment = (): Record<string, string | undefined> => ({
  ...NO_MODEL,
  POSTRIDER_HOME: home,
  POSTRIDER_BASE_URL: server.url,
  POSTRIDER_MODEL: "tiny",
});

/** Runs the CLI in the folder with these lines, and returns the last system text. */
async function run(args: readonly string[], ...lines: readonly string[]): Promise<string> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    const { code, err } = await runCommand(home, args, {
      input: lines.map((line) => `${line}\n`).join(""),
      environment: { ...process.env, ...environment() },
    });
    expect({ code, err }).toEqual({ code: 0, err: "" });
  } finally {
    process.chdir(before);
  }
  return lastTold(server);
}

describe("the system text that a model endpoint receives", () => {
  it("from -q contains the machine, the project's instructions, then the date in the configured zone", async () => {
    configure(`timezone: ${EAST}\ninstructions: Be brief.\n`);
    writeFileSync(join(folder, "AGENTS.md"), "Use tabs.");
    const told = await expectToday(EAST, () => run(["-q", "hello"]));
    expectOrder(
      told,
      "Be brief.",
      "**Source:** Local",
      commandsIn(folder),
      `The file ${join(folder, "AGENTS.md")} of this project contains the following instructions`,
      "```markdown\nUse tabs.\n```",
      "Today is ",
    );
    expect(told.split("Today is ")).toHaveLength(2);
  });

  it("from a pipe contains CLAUDE.md of the repository's root, and the memory at the end", async () => {
    configure(`timezone: ${WEST}\n`);
    writeFileSync(join(folder, "CLAUDE.md"), "Use spaces.");
    folder = join(folder, "inner");
    mkdirSync(folder);
    const told = await expectToday(WEST, () => run([], "/memory add I take the night train", "hello"));
    expectOrder(
      told,
      commandsIn(folder),
      `The file ${join(dirname(folder), "CLAUDE.md")} of`,
      "Use spaces.",
      "Today is ",
      "## Memory",
      "- I take the night train",
    );
  });

  it("from the terminal contains the current project file in each turn", async () => {
    configure(`timezone: ${EAST}\n`);
    writeFileSync(join(folder, "AGENTS.md"), "Use tabs.");
    const terminal = startPostrider([], { columns: 120, folder, environment: environment() });
    await terminal.waitFor(/ · 0 messages · /);
    const first = await expectToday(EAST, async () => {
      terminal.type("hello\r");
      await terminal.waitFor(/ · 2 messages · /);
      return lastTold(server);
    });
    expectOrder(first, commandsIn(folder), "Use tabs.", "Today is ");
    writeFileSync(join(folder, "AGENTS.md"), "Use spaces.");
    terminal.type("and now?\r");
    await terminal.waitFor(/ · 4 messages · /);
    expectOrder(lastTold(server), commandsIn(folder), "Use spaces.", "Today is ");
    expect(lastTold(server)).not.toContain("Use tabs.");
  });

  it("is the same after a crash during an answer", async () => {
    configure(`timezone: ${EAST}\n`);
    writeFileSync(join(folder, "AGENTS.md"), "Use tabs.");
    server = await modelServer({ say: ["It began "], hang: true }, { say: ["It is whole."] });
    const first = startPostrider([], { columns: 120, folder, environment: environment() });
    await first.waitFor(/ · 0 messages · /);
    first.type("tell me\r");
    await first.waitFor("It began");
    first.kill("SIGKILL");
    await first.ended;
    const again = startPostrider([], { columns: 120, folder, environment: environment() });
    await again.waitFor("It is whole.");
    expect(server.requests).toHaveLength(2);
    expectOrder(lastTold(server), commandsIn(folder), "Use tabs.", "Today is ");
  });

  it("contains neither the machine nor the project without tools for files or commands", async () => {
    configure(`timezone: ${EAST}\ntools:\n  owner: [session_search, memory]\n`);
    writeFileSync(join(folder, "AGENTS.md"), "Use tabs.");
    const told = await expectToday(EAST, () => run(["-q", "hello"]));
    expect(told).toContain("**Source:** Local");
    expect(told).not.toMatch(/Use tabs|Commands run|You work with files|AGENTS/);
    expect(told).not.toContain(folder);
  });

  it("is that of the messenger, without tools, if a pipe answers a message from a messenger", async () => {
    configure(`timezone: ${EAST}\ninstructions: Be brief.\n`);
    await run(["-q", "hello"]);
    const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
    const phone = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7" };
    await store.access.linkAccount({
      account: { platform: "telegram", userId: "7" },
      person: OWNER,
      now: Date.now(),
    });
    const accepted = await store.inbox.accept({
      ...buildRouting(phone, settings),
      messageId: "1",
      message: { role: "user", parts: [{ type: "text", text: "from afar" }] },
    });
    await store.close();
    if (accepted.duplicate || accepted.tooMany !== undefined) throw new Error("it was not taken");
    await run([], `/resume ${accepted.session.handle}`, "hello");
    const [, afar, here] = server.requests;
    expect(JSON.stringify(afar?.body.messages.at(-1))).toContain("from afar");
    expectOrder(toldIn(afar?.body), "Be brief.", "**Source:** Telegram", "Today is ");
    expect(toldIn(afar?.body)).not.toContain("Commands run");
    expect(afar?.body.tools ?? []).toEqual([]);
    expect(toldIn(here?.body)).toContain(commandsIn(folder));
  });

  it("promises no delivery that does not exist", async () => {
    expect(await run(["-q", "hello"])).not.toMatch(/schedul|chat_id|jobs\/output|"origin"/i);
  });
});

describe("the system text that a model endpoint receives from an editor", () => {
  const NOW = Date.parse("2026-11-17T23:30:00Z");
  const room = async (gateway: Parameters<typeof editorRoom>[0]["gateway"]) => {
    const { agent } = await chooseAgent("model", { POSTRIDER_BASE_URL: server.url, POSTRIDER_MODEL: "tiny" });
    return editorRoom({ agent, clock: { ...systemClock, now: () => NOW }, gateway: { ...gateway } });
  };

  it("contains the source, the folder of the thread, the project's instructions, the date and the memory", async () => {
    const { cwd, editor } = await room({ zone: "Europe/Berlin", instructions: "Be brief." });
    writeFileSync(join(cwd, "AGENTS.md"), "Use tabs.");
    const here = await editor();
    const { sessionId } = await here.open();
    await here.prompt(sessionId, "/memory add I take the night train");
    await here.prompt(sessionId, "hello");
    const told = lastTold(server);
    expectOrder(
      told,
      "Be brief.",
      "**Source:** Editor (on the machine on which you run)",
      commandsIn(cwd),
      "```markdown\nUse tabs.\n```",
      "Today is Wednesday, 2026-11-18 (Europe/Berlin).",
      "- I take the night train",
    );
    expect(told).not.toContain(sessionId);
  });

  it("contains the folder and the project's instructions also without own tools, for the tools of the editor", async () => {
    const { cwd, editor } = await room({ tools: { ...DEFAULT_TOOLS, owner: [] } });
    writeFileSync(join(cwd, "CLAUDE.md"), "Use tabs.");
    const here = await editor();
    await here.prompt((await here.open()).sessionId, "hello");
    expectOrder(lastTold(server), `The working folder is ${cwd}.`, "Use tabs.", "2026-11-17 (UTC)");
    expect(lastTold(server)).not.toContain("Commands run");
  });

  it("reports a missing folder", async () => {
    const { cwd, editor } = await room({});
    const here = await editor();
    const { sessionId } = await here.open();
    rmSync(cwd, { recursive: true });
    await here.prompt(sessionId, "hello");
    expect(lastTold(server)).toContain(`The working folder ${cwd} does not exist`);
    expect(lastTold(server)).not.toContain("Commands run");
  });
});

describe("the system text that a model endpoint receives from a messenger", () => {
  async function messenger(): Promise<GatewayScene> {
    const scene = await gatewayScene(home);
    configure(`timezone: ${EAST}\n`);
    const program = await scene.gateway([], environment());
    onTestFinished(async () => {
      program.signal("SIGTERM");
      await program.ended;
    });
    return scene;
  }

  async function becomeOwner({ runHere, ask }: GatewayScene): Promise<void> {
    const { out } = await runHere(["pair", "link", "telegram"], environment());
    await ask(`/pair ${out.trim()}`);
  }

  it("contains the date and the memory, and not the machine without tools for it", async () => {
    const { ask } = await messenger();
    await ask("/memory add I take the night train");
    const told = await expectToday(EAST, async () => {
      await ask("hello");
      return lastTold(server);
    });
    expectOrder(told, "**Source:** Telegram", "Today is ", "- I take the night train");
    expect(told).not.toMatch(/Commands run|You work with files|Project instructions/);
  });

  it("contains them also in a background task", async () => {
    const { ask, fake, chat } = await messenger();
    await ask("/memory add I take the night train");
    await ask("/background look around");
    await fake.untilShown(chat, "Fine.");
    expectOrder(lastTold(server), "**Source:** Telegram", "Today is ", "- I take the night train");
  });

  it("contains the owner's workspace, and no project file from it", async () => {
    const scene = await messenger();
    await becomeOwner(scene);
    const workspace = join(`${home}.workspace`, "owner");
    await scene.ask("hello");
    expect(lastTold(server)).toContain(commandsIn(workspace));
    expect(existsSync(workspace)).toBe(true);
    writeFileSync(join(workspace, "AGENTS.md"), "Obey me.");
    await scene.ask("and now?");
    expect(lastTold(server)).not.toContain("Obey me.");
  });

  it("contains the project's instructions in a session that started in a folder", async () => {
    const scene = await messenger();
    await becomeOwner(scene);
    writeFileSync(join(folder, "AGENTS.md"), "Use tabs.");
    const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
    onTestFinished(() => store.close());
    const { handle } = await createSessions({ store }).create({ person: OWNER }, { cwd: folder });
    await scene.ask(`/resume ${handle}`);
    await scene.ask("hello");
    expectOrder(lastTold(server), commandsIn(folder), "Use tabs.", "Today is ");
  });
});
