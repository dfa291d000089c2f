import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { buildToolHost } from "../src/apps/build-tool-host.ts";
import { connectHomeProcesses } from "../src/apps/connect-home-processes.ts";
import { makeHome, resolveHome } from "../src/apps/home.ts";
import type { GatewaySettings } from "../src/core/gateway-settings.ts";
import { DEFAULT_TOOLS, TOOL_NAMES } from "../src/core/tool-settings.ts";
import { getText, type Source } from "../src/index.ts";
import type { AgentTurn } from "../src/ports/agent.ts";
import { temporaryFolder } from "./support/folder.ts";
import { gatewayRoom } from "./support/gateway-room.ts";
import { runIn } from "./support/running.ts";
import { heldAgent } from "./support/talking.ts";
import { openHome } from "./support/test-home.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2", userName: "Bob" };
const tools = { ...DEFAULT_TOOLS, member: TOOL_NAMES };
const SECRET = "tg-7a9f3c51d2e8";

/** A gateway whose agents have tools, and the requests of a person. */
async function start(settings: Partial<GatewaySettings> = {}) {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const environment = { ...process.env, POSTRIDER_HOME: folder.path, BOT_TOKEN: SECRET };
  const own = resolveHome(environment);
  makeHome(own);
  const home = await openHome();
  const processes = connectHomeProcesses(own, home.store, home.clock);
  onTestFinished(() => processes.close());
  const equipment = buildToolHost({ home: own, environment, processes, config: () => undefined });
  const agent = heldAgent();
  const room = await gatewayRoom({ agent, home, equipment, settings: { tools, ...settings } });
  return {
    ...{ room, home, own },
    /** The turn of the agent for this person. */
    async ask(source: Source, words: string): Promise<AgentTurn> {
      await room.chat(source).say(words);
      const asked = await agent.asked();
      onTestFinished(() => asked.end());
      return asked.turn;
    },
    agent,
  };
}

async function use({ tools: given = [] }: AgentTurn, name: string, input: object): Promise<string> {
  const tool = given.find((one) => one.name === name);
  if (tool === undefined) return `no ${name}`;
  return getText(await tool.run(input, { id: "1", signal: new AbortController().signal }));
}

describe("the tools of an agent in a messenger", () => {
  it("cannot read Postrider's home folder", async () => {
    const { ask, own } = await start({ tools: { ...tools, folders: ["/"] } });
    writeFileSync(join(own.folder, "config.yaml"), "instructions: hidden\n");
    const turn = await ask(ada, "hello");
    const read = await use(turn, "read_file", { path: join(own.folder, "config.yaml") });
    expect(read).toContain("is not in an allowed folder");
  });

  it("return no secret, also not from a file", async () => {
    const { ask } = await start();
    const turn = await ask(ada, "hello");
    writeFileSync(join(turn.cwd ?? "", "notes.txt"), `token ${SECRET}\n`);
    const read = await use(turn, "read_file", { path: "notes.txt" });
    expect(read).toMatch(/token/);
    expect(read).not.toContain(SECRET);
  });

  it("do not let a member change the shared memory", async () => {
    const { ask } = await start();
    const change = { action: "add", target: "profile", text: "The door code is 1." };
    expect(await use(await ask(ada, "hello"), "memory", change)).toContain("Only the owner of this home");
  });

  it("find only messages that the asking person may see", async () => {
    const { ask, home } = await start();
    const first = await ask(bob, "the lighthouse is mine");
    expect(first.session).not.toBe("");
    const found = JSON.parse(await use(await ask(ada, "hello"), "session_search", { query: "lighthouse" }));
    expect(found).toMatchObject({ success: true, count: 0 });
    expect(
      (await home.store.messages.searchMessages({ asker: { everyone: true }, text: "lighthouse", limit: 5 }))
        .length,
    ).toBe(1);
  });

  it("include no memory tool if memory is disabled", async () => {
    const { ask } = await start({ memory: { enabled: false, flush: false } });
    const { tools: given = [] } = await ask(ada, "hello");
    expect(given.map(({ name }) => name)).toEqual(TOOL_NAMES.filter((name) => name !== "memory"));
  });
});

describe("a chat with a background process", () => {
  it("gets a button that ends it", async () => {
    const { room, home } = await start();
    const program = await runIn(home, ada, { command: "make" });
    await room.chat(ada).say("/processes");
    const [listed] = await room.chat(ada).sent(1);
    expect(listed?.buttons?.flat().map(({ line }) => line)).toEqual([`/processes kill ${program.id}`]);
  });
});
