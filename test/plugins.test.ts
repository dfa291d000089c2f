import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CliEnded, startCli } from "./support/cli.ts";
import { temporaryFolder } from "./support/folder.ts";
import { gatewayScene } from "./support/gateway-program.ts";
import { recordingEndpoint } from "./support/recording-endpoint.ts";

/** A home with a configuration, and the command that runs in a folder beside it. */
interface PluginHome {
  readonly home: string;
  /** Writes a file below the home; nobody else may write it unless the mode says so. */
  put(path: string, text: string, mode?: number): string;
  configure(text: string): void;
  run(args: readonly string[], input?: string, environment?: NodeJS.ProcessEnv): Promise<CliEnded>;
}

function pluginHome(): PluginHome {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  const home = join(temporary.path, "home");
  mkdirSync(home, { mode: 0o700 });
  const put: PluginHome["put"] = (path, text, mode = 0o600) => {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  };
  return {
    home,
    put,
    configure: (text) => void put("config.yaml", text),
    run(args, input = "", environment = {}) {
      const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
      const { process: child, ended } = startCli(home, args, (command) => [
        "env",
        "-C",
        temporary.path,
        ...assignments,
        ...command,
      ]);
      child.stdin.end(input);
      return ended;
    },
  };
}

const COMMAND = `
import { definePlugin } from "postrider/plugin";
interface Weather { readonly city: string }
const weather: Weather = { city: "Oslo" };
export default definePlugin({
  commands: [
    {
      name: "weather",
      summary: "the weather",
      isReadOnly: true,
      run: async (args, { role, source, findSession }) =>
        \`\${args || weather.city}: sun, for the \${role} in \${source.platform}, \${(await findSession())?.messageCount} messages\`,
    },
  ],
});
`;

const TOOL = `
import { definePlugin } from "postrider/plugin";
import { defineTool } from "postrider/tool";
export const plugin = definePlugin({
  tools: [
    defineTool({
      name: "roll_dice",
      description: "Rolls dice.",
      input: { type: "object", properties: { sides: { type: "integer" } }, required: ["sides"] },
      effect: "none",
      run: ({ sides }) => \`rolled 4 of \${sides}\`,
    }),
  ],
});
`;

describe("a plugin", () => {
  it("answers a command in the terminal, and the help lists it", async () => {
    const { put, configure, run } = pluginHome();
    put("my-plugin.ts", COMMAND);
    configure("plugins: [./my-plugin.ts]\n");
    const { out, err, code } = await run([], "hi\n/weather\n/weather Rome\n/help\n");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("Oslo: sun, for the owner in local, 2 messages\n");
    expect(out).toContain("Rome: sun");
    expect(out).toContain("/weather");
  });

  it("is a module even below a package.json of CommonJS", async () => {
    const { home, put, configure, run } = pluginHome();
    writeFileSync(join(dirname(home), "package.json"), '{ "type": "commonjs" }');
    put("weather.ts", COMMAND);
    configure("plugins: [./weather.ts]\n");
    const { out, err } = await run([], "/weather\n");
    expect([out, err]).toEqual([expect.stringContaining("Oslo: sun"), ""]);
  });

  it("offers its tool to the model, and the tool's output reaches the model", async () => {
    const { put, configure, run } = pluginHome();
    const call = { id: "c1", name: "roll_dice", input: { sides: 6 } };
    const endpoint = await recordingEndpoint({
      answers: [{ calls: [call] }, { say: "You got a four." }],
    });
    put("dice.ts", TOOL);
    configure(
      `plugins: [./dice.ts]\nmodel: { provider: compatible, name: m, base_url: "${endpoint.url}" }\n`,
    );
    const { out, code } = await run(["-q", "roll", "--agent", "model"]);
    expect({ out, code }).toEqual({ out: "You got a four.\n", code: 0 });
    const [first, second] = await endpoint.untilAsked("answer", 2);
    expect(JSON.stringify(first?.body.tools)).toContain('"roll_dice"');
    expect(JSON.stringify(second?.body)).toContain("rolled 4 of 6");
  });

  it("cannot pass a secret of the home to the model through its tool output", async () => {
    const { put, configure, run } = pluginHome();
    const secret = "sk-a-secret-of-this-home";
    const endpoint = await recordingEndpoint({
      answers: [{ calls: [{ id: "c1", name: "roll_dice", input: { sides: 6 } }] }, { say: "Done." }],
    });
    put("dice.ts", TOOL.replace("rolled 4 of", `${secret} rolled 4 of`));
    configure(
      `plugins: [./dice.ts]\nmodel: { provider: compatible, name: m, base_url: "${endpoint.url}", api_key: ${secret} }\n`,
    );
    await run(["-q", "roll", "--agent", "model"]);
    const [, second] = await endpoint.untilAsked("answer", 2);
    expect(JSON.stringify(second?.body)).toContain("rolled 4 of 6");
    expect(JSON.stringify(second?.body)).not.toContain(secret);
  });

  it("works in an editor: its command is listed and answers, and its tool is offered to the model", async () => {
    const { home, put, configure } = pluginHome();
    const endpoint = await recordingEndpoint({ answers: [{ say: "Hello." }] });
    put("weather.ts", COMMAND);
    put("dice.ts", TOOL);
    configure(
      `plugins: [./weather.ts, ./dice.ts]\nmodel: { provider: compatible, name: m, base_url: "${endpoint.url}" }\n`,
    );
    const { process: child } = startCli(home, ["acp", "--agent", "model"]);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const received: string[] = [];
    const request = async (id: number, method: string, params: object): Promise<{ sessionId: string }> => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`the editor's server ended before it answered ${method}`);
        received.push(value);
        const message = JSON.parse(value);
        if (message.id === id && "result" in message) return message.result;
      }
    };
    await request(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await request(2, "session/new", { cwd: dirname(home), mcpServers: [] });
    await request(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "/weather Rome" }] });
    await request(4, "session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] });
    const commands = received.find((line) => line.includes("available_commands_update"));
    expect(commands).toContain('"name":"weather"');
    expect(received.join("\n")).toContain("Rome: sun");
    const [asked] = await endpoint.untilAsked("answer", 1);
    expect(JSON.stringify(asked?.body.tools)).toContain('"roll_dice"');
  });

  it("adds agents, which --agent selects", async () => {
    const { put, configure, run } = pluginHome();
    const agent = `{ name: "shout", async *run({ history }) {
      yield { type: "text", text: history.at(-1).parts[0].text.toUpperCase() + (process.env.POSTFIX ?? "") };
    } }`;
    put("agents.mjs", `export const plugin = { agents: { shout: () => (${agent}) } };`);
    configure("plugins: [./agents.mjs]\n");
    expect(await run(["-q", "hello", "--agent", "shout"])).toMatchObject({ out: "HELLO\n", code: 0 });
    // Only a file, without any configuration; relative to the working folder of the command.
    put("../my-agent.ts", `export const agent = ${agent};`);
    expect(await run(["-q", "hello", "--agent", "./my-agent.ts"])).toMatchObject({ out: "HELLO\n", code: 0 });
    expect(await run(["-q", "hello", "--agent", "./none.ts"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/The agent \.\/none\.ts cannot be used: .*none\.ts does not exist\./),
    });
    expect(await run(["-q", "hello", "--agent", "whisper"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("shout"),
    });
  });

  it("can be a package in the home", async () => {
    const { put, configure, run } = pluginHome();
    put(
      "node_modules/postrider-plugin-hello/package.json",
      '{ "name": "postrider-plugin-hello", "type": "module", "exports": { "import": "./index.js" } }',
    );
    put(
      "node_modules/postrider-plugin-hello/index.js",
      `import { definePlugin } from "postrider/plugin";
       export default definePlugin({ commands: [{ name: "hello", summary: "greets", run: () => "Hello!" }] });`,
    );
    configure("plugins: [postrider-plugin-hello]\n");
    expect(await run([], "/hello\n")).toMatchObject({ out: "Hello!\n", code: 0 });
  });

  it("that is broken is reported and skipped, and everything else works", async () => {
    const { put, configure, run } = pluginHome();
    put("good.ts", COMMAND);
    put("throws.ts", 'throw new Error("no such luck");');
    put("empty.ts", "export const other = 1;");
    put("syntax.ts", "export const (");
    put("wrong.ts", "export const plugin = { tools: [{ name: 'x' }] };");
    put("unknown.ts", "export const plugin = { tolls: [] };");
    put("new.ts", 'export const plugin = { commands: [{ name: "new", summary: "s", run: () => "" }] };');
    put("twice.ts", COMMAND);
    const all = ["throws", "empty", "syntax", "wrong", "unknown", "new", "good", "twice"];
    configure(
      `plugins: [${[...all.map((name) => `./${name}.ts`), "./gone.ts", "no-such-package"].join(", ")}]\n`,
    );
    const { out, err, code } = await run([], "hi\n/weather\n");
    expect(out).toContain("You said: hi\nOslo: sun");
    expect(code).toBe(0);
    const said = err.trimEnd().split("\n");
    expect(said).toEqual([
      "postrider: The plugin ./throws.ts is left out: no such luck.",
      "postrider: The plugin ./empty.ts is left out: It exports no plugin: export default definePlugin({ … }).",
      expect.stringMatching(/^postrider: The plugin \.\/syntax\.ts is left out: .+/),
      expect.stringMatching(/^postrider: The plugin \.\/wrong\.ts is left out: tools\[0\] .+/),
      expect.stringMatching(/^postrider: The plugin \.\/unknown\.ts is left out: .*tolls.*/),
      "postrider: The plugin ./new.ts is left out: There is already a command /new.",
      "postrider: The plugin ./twice.ts is left out: There is already a command /weather.",
      expect.stringMatching(/^postrider: The plugin \.\/gone\.ts is left out: .*gone\.ts does not exist\.$/),
      expect.stringMatching(/^postrider: The plugin no-such-package is left out: .*no-such-package.*/),
    ]);
  });

  it("runs only if nobody else can change its file", async () => {
    const { put, configure, run, home } = pluginHome();
    put("open.ts", COMMAND, 0o666);
    put("elsewhere/target.ts", COMMAND, 0o622);
    symlinkSync(join(home, "elsewhere/target.ts"), join(home, "link.ts"));
    configure("plugins: [./open.ts, ./link.ts]\n");
    const { out, err } = await run([], "/weather\n");
    expect(out).toBe("");
    expect(err).toMatch(/The plugin \.\/open\.ts is left out: .*chmod go-w .*open\.ts/);
    expect(err).toMatch(/The plugin \.\/link\.ts is left out: .*chmod go-w /);
    expect(err).toContain("There is no command /weather");
  });

  it("is never named by a project's file", async () => {
    const { put, run } = pluginHome();
    put("../evil.ts", "process.stdout.write('EVIL');");
    put("../postrider.yaml", "plugins: [./evil.ts]\n");
    const { out, err } = await run([], "hi\n");
    expect(out).toBe("You said: hi\n");
    expect(err).toContain("plugins is not allowed in a project's file");
  });

  it("is listed with its contents, and checked", async () => {
    const { put, configure, run } = pluginHome();
    expect(await run(["plugins", "list"])).toMatchObject({
      out: expect.stringContaining("No plugins"),
      code: 0,
    });
    put("good.ts", COMMAND);
    put("dice.ts", TOOL);
    put("broken.ts", "throw new Error('oh');");
    configure("plugins: [./good.ts, ./dice.ts]\n");
    expect(await run(["plugins", "check"])).toMatchObject({ code: 0 });
    configure("plugins: [./good.ts, ./dice.ts, ./broken.ts]\n");
    const listed = await run(["plugins", "list"]);
    expect(listed.out).toMatch(/\.\/good\.ts +command \/weather/);
    expect(listed.out).toMatch(/\.\/dice\.ts +tool roll_dice/);
    expect(listed.out).toMatch(/\.\/broken\.ts +left out: oh\./);
    expect(listed.code).toBe(0);
    const json = JSON.parse((await run(["plugins", "list", "--json"])).out);
    expect(json.plugins[0]).toMatchObject({ name: "./good.ts", loaded: true, commands: ["weather"] });
    expect(json.plugins[2]).toMatchObject({ name: "./broken.ts", loaded: false, problem: "oh." });
    const checked = await run(["plugins", "check", "--json"]);
    expect(checked.code).toBe(1);
    expect(JSON.parse(checked.out)).toEqual({
      ok: false,
      problems: [{ plugin: "./broken.ts", text: "oh." }],
    });
  });

  it("works in a gateway with its command and its hook, and its failing platform is skipped", async () => {
    const { home, gateway, ask } = await gatewayScene();
    const hooked = join(home, "hooked");
    mkdirSync(home, { mode: 0o700 });
    const write = (name: string, text: string): void =>
      writeFileSync(join(home, name), text, { mode: 0o600 });
    write("weather.ts", COMMAND);
    write(
      "hook.mjs",
      `import { appendFileSync } from "node:fs";
       export const plugin = {
         platforms: [() => { throw new Error("no port"); }, () => undefined],
         hooks: [{ name: "count", events: ["command:weather"], handle: () => appendFileSync(${JSON.stringify(hooked)}, "x") }],
       };`,
    );
    write("config.yaml", "plugins: [./weather.ts, ./gone.ts, ./hook.mjs]\n");
    const program = await gateway();
    await program.logged(({ msg }) => String(msg).startsWith("The plugin ./gone.ts is left out: "));
    await program.logged(({ msg }) => msg === "a platform of the plugin ./hook.mjs is left out");
    expect(await ask("hello")).toBe("You said: hello");
    expect(await ask("/weather Bergen")).toBe("Bergen: sun, for the member in telegram, 2 messages");
    await expect.poll(() => existsSync(hooked)).toBe(true);
    program.signal("SIGTERM");
    expect((await program.ended).code).toBe(0);
  });
});
