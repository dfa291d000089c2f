import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { McpServer, McpServerStdio } from "@agentclientprotocol/sdk/unstable";
import { createMcpHandler, type Transport } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { testServer } from "../../../test/acp/mcp-server.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import type { Log } from "../../ports/log.ts";
import type { Tool, ToolOutput } from "../../ports/tool.ts";
import { AGENT_MARK } from "../../processes/agent-mark.ts";
import { buildAgentEnvironment } from "../../processes/child-environment.ts";
import { connectMcpServers, type McpServers, type McpServersOptions } from "./mcp-servers.ts";

const PROGRAM = fileURLToPath(new URL("../../../test/acp/mcp-server.ts", import.meta.url));
const never = new AbortController().signal;

function program(more: Partial<McpServerStdio> = {}, ...flags: readonly string[]): McpServerStdio {
  return { name: "test", command: process.execPath, args: [PROGRAM, ...flags], env: [], ...more };
}

interface Connected extends McpServers {
  readonly logged: string[];
  readonly cwd: string;
  use(name: string, given?: unknown, signal?: AbortSignal): Promise<ToolOutput>;
}

/** Connects for one test and closes everything after it. */
function connected(servers: readonly McpServer[], more: Partial<McpServersOptions> = {}): Connected {
  const folder = temporaryFolder();
  const logged: string[] = [];
  const note = (fields: object, words: string): void =>
    void logged.push(`${JSON.stringify(fields)} ${words}`);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const made = connectMcpServers(servers, { cwd: folder.path, environment: process.env, log, ...more });
  onTestFinished(async () => {
    await made.close();
    folder.remove();
  });
  return Object.assign(made, {
    logged,
    cwd: folder.path,
    async use(name: string, given: unknown = {}, signal: AbortSignal = never) {
      const tool = (await made.tools()).find((offered) => offered.name === name);
      if (tool === undefined) throw new Error(`there is no ${name}`);
      return tool.run(given, { id: "1", signal });
    },
  });
}

const words = (output: ToolOutput): string =>
  output.parts.map((part) => (part.type === "text" ? part.text : part.type)).join("\n");

function byName(tools: readonly Tool[]): Readonly<Record<string, Tool>> {
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
}

describe("the MCP servers of an editor", () => {
  it("offer their tools, with input schema and approval", async () => {
    const { tools, problems } = connected([program()]);
    const offered = byName(await tools());
    expect(problems).toEqual([]);
    expect(Object.keys(offered)).toEqual([
      "test__add",
      "test__note",
      "test__refuse",
      "test__show",
      "test__count",
      "test__see",
      "test__hang",
      "test__die",
      "test__a_b",
      "test__a_b_2",
    ]);
    expect(offered.test__add).toMatchObject({
      description: "Adds.",
      effect: "none",
      input: { type: "object", required: ["a", "b"] },
    });
    expect(offered.test__add?.buildApprovalRequest).toBeUndefined();
    expect(offered.test__note?.effect).toBe("external");
    expect(offered.test__note?.buildApprovalRequest?.({ file: "x" })).toEqual({
      title: "use note of test",
      detail: '{\n  "file": "x"\n}',
      pattern: "mcp:test/note",
    });
    expect(offered.test__count?.description).toBe("count");
  });

  it("have unique tool names that models accept, also for long and unusual names", async () => {
    const long = `sérver ${"x".repeat(80)}`;
    const { tools } = connected([program({ name: long }), program(), program()]);
    const names = (await tools()).map(({ name }) => name);
    expect(names).toHaveLength(30);
    expect(new Set(names).size).toBe(30);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("run calls and return the results", async () => {
    const { use, cwd } = connected([program()]);
    expect(await use("test__add", { a: 1, b: 2 })).toEqual({ parts: [{ type: "text", text: "3" }] });
    expect(words(await use("test__note", { file: "notes.txt" }))).toBe("noted");
    expect(existsSync(join(cwd, "notes.txt"))).toBe(true);
    expect(await use("test__refuse")).toEqual({ parts: [{ type: "text", text: "I refuse." }], failed: true });
    const bytes = new Uint8Array([1, 2, 3]);
    const blob = createHash("sha256").update(bytes).digest("hex");
    expect(await use("test__show")).toEqual({
      blobs: [{ hash: blob, bytes }],
      parts: [
        { type: "image", blob, mimeType: "image/png", size: 3 },
        { type: "resource", uri: "file:///a.txt", mimeType: "text/plain", text: "in it" },
        { type: "resource", uri: "file:///b.txt" },
      ],
    });
    expect(words(await use("test__count"))).toBe('{"n":3}');
    const wrong = await use("test__add", { a: "x" });
    expect(wrong.failed).toBe(true);
    expect(words(wrong)).toMatch(/Invalid/i);
    expect(words(await use("test__a_b"))).toBe(".");
    expect(words(await use("test__a_b_2"))).toBe("_");
  });

  it("get the session's folder and the editor's variables, and none of Postrider's secrets", async () => {
    const environment = { ...process.env, POSTRIDER_TEST_KEY: "ours", LANG: "C" };
    const env = [
      { name: "TEST_TOKEN", value: "very-secret-token" },
      { name: "PLAIN", value: "value" },
      { name: AGENT_MARK, value: "" },
    ];
    const { use, cwd, logged } = connected([program({ env })], { environment });
    const seen = words(await use("test__see"));
    const { cwd: at, env: found } = JSON.parse(seen) as { cwd: string; env: Record<string, string> };
    expect(at).toBe(cwd);
    expect(found).toMatchObject({ PLAIN: "value", LANG: "C", PATH: process.env.PATH, [AGENT_MARK]: "1" });
    const known = [...Object.keys(buildAgentEnvironment(environment)), "PLAIN", "TEST_TOKEN"];
    expect(Object.keys(found).filter((name) => !known.includes(name))).toEqual([]);
    // Secrets are masked everywhere.
    expect(found.TEST_TOKEN).toBe("[secret]");
    await expect.poll(() => logged).toContain('{"server":"test"} here is [secret]');
  });

  it("do not block a stopped turn, and time out", async () => {
    const { use } = connected([program()], { callMs: 300 });
    const stop = new AbortController();
    const hanging = use("test__hang", {}, stop.signal);
    stop.abort();
    expect(await hanging).toMatchObject({ failed: true });
    expect(words(await use("test__hang"))).toBe("test did not answer within 0.3 s.");
    expect(words(await use("test__add", { a: 1, b: 1 }))).toBe("2");
  });

  it("that exit fail one call, and are restarted for the next", async () => {
    const { use } = connected([program()]);
    const died = await use("test__die");
    expect(died.failed).toBe(true);
    expect(words(died)).toMatch(/^test ended before it answered\. Postrider reconnects/);
    expect(words(await use("test__add", { a: 1, b: 1 }))).toBe("2");
  });

  it("that were killed fail one call, and are restarted for the next", async () => {
    const mark = randomUUID();
    const { use } = connected([program({}, mark)]);
    expect(words(await use("test__add", { a: 1, b: 1 }))).toBe("2");
    for (const pid of marked(mark)) process.kill(pid, "SIGKILL");
    await expect.poll(() => marked(mark)).toEqual([]);
    await expect
      .poll(async () => words(await use("test__add", { a: 1, b: 1 })))
      .toMatch(/had ended\.|before it/);
    expect(words(await use("test__add", { a: 2, b: 1 }))).toBe("3");
  });

  it("are restarted once, however many calls fail", async () => {
    const mark = randomUUID();
    const { use } = connected([program({}, mark)]);
    const lost = await Promise.all([use("test__hang"), use("test__die"), use("test__hang")]);
    expect(lost.map(({ failed }) => failed)).toEqual([true, true, true]);
    expect(words(await use("test__add", { a: 1, b: 1 }))).toBe("2");
    expect(marked(mark)).toHaveLength(1);
  });

  it("that cannot be used are reported, and the others work", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const plain = join(folder.path, "plain.txt");
    writeFileSync(plain, "");
    const broken = join(folder.path, "broken");
    writeFileSync(broken, "#!/bin/sh\necho no json\nexit 1\n");
    chmodSync(broken, 0o755);
    const closed = await httpServer();
    await closed.close();
    const http = (name: string, url: string): McpServer => ({ type: "http", name, url, headers: [] });
    const { tools, problems } = connected(
      [
        program({ name: "nowhere", command: "no-such-program" }),
        program({ name: "relative", command: "./server" }),
        program({ name: "empty", command: "" }),
        program({ name: "plain", command: plain }),
        program({ name: "broken", command: broken }),
        program({ name: "mute" }, "--mute"),
        http("odd", "ftp://example.org"),
        http("gone", `${closed.url}?key=query-secret`),
        { type: "sse", name: "gone too", url: closed.url, headers: [] },
        {
          type: "http",
          name: "bad header",
          url: closed.url,
          headers: [{ name: "a b", value: "header-secret" }],
        },
        program(),
      ],
      { connectMs: 3000 },
    );
    expect(await tools()).toHaveLength(10);
    expect(problems).toEqual([
      "nowhere cannot be started: no-such-program is not found on PATH.",
      "relative cannot be started: its command must be an absolute path, or a name that is found on PATH.",
      "empty cannot be started: its command must be an absolute path, or a name that is found on PATH.",
      `plain cannot be started: ${plain} is not an executable file.`,
      "broken could not be connected: it ended, or does not support MCP.",
      "mute did not answer within 3 s.",
      "odd cannot be reached: its URL is not http or https.",
      "gone cannot be reached (ECONNREFUSED).",
      expect.stringMatching(/^gone too (cannot be reached|could not be connected)/),
      "bad header cannot be reached: one of its headers is not valid.",
    ]);
  });

  it("that start slowly join later, with a notice", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const ready = join(folder.path, "ready");
    const told: string[] = [];
    const joined = Promise.withResolvers<void>();
    const { tools, currentTools, problems } = connected(
      [program({ name: "slow" }, `--after=${ready}`), program()],
      {
        waitMs: 5000,
        notify(sentence) {
          told.push(sentence);
          if (sentence.includes("ready:")) joined.resolve();
        },
      },
    );
    const names = (offered: readonly Tool[]): Set<string | undefined> =>
      new Set(offered.map(({ name }) => name.split("__")[0]));
    expect(names(await tools())).toEqual(new Set(["test"]));
    expect(told).toEqual(["slow is still starting; its tools join the thread when it is ready."]);
    writeFileSync(ready, "");
    await joined.promise;
    expect(told.slice(1)).toEqual(["slow is ready: 10 tools."]);
    expect(names(await tools())).toEqual(new Set(["slow", "test"]));
    expect(names(currentTools())).toEqual(new Set(["slow", "test"]));
    expect(problems).toEqual([]);
  });

  it("that never answer time out, with a notice", async () => {
    const told: string[] = [];
    const lost = Promise.withResolvers<void>();
    const { tools, problems } = connected([program({ name: "lost" }, "--mute")], {
      waitMs: 100,
      connectMs: 1500,
      notify(sentence) {
        told.push(sentence);
        if (told.length === 2) lost.resolve();
      },
    });
    expect(await tools()).toEqual([]);
    await lost.promise;
    expect(told).toEqual([
      "lost is still starting; its tools join the thread when it is ready.",
      "lost did not answer within 1.5 s.",
    ]);
    expect(problems).toEqual(["lost did not answer within 1.5 s."]);
  });

  it("are listed again after a notification of changed tools", async () => {
    const grown = Promise.withResolvers<void>();
    const { use, currentTools } = connected([program({}, "--growing")], {
      onToolsChanged: () =>
        void (currentTools().some(({ name }) => name === "test__grown_1") && grown.resolve()),
    });
    await use("test__grow");
    await grown.promise;
    expect(words(await use("test__grown_1"))).toBe("grown_1");
    expect(words(await use("test__add", { a: 1, b: 2 }))).toBe("3");
  });

  it("end with all their children when the session is closed, also if they ignore signals", async () => {
    const mark = randomUUID();
    const mute = program({ name: "mute" }, "--mute", "--deaf", mark);
    const { tools, close, use } = connected([program({}, "--deaf", mark), mute], { connectMs: 2000 });
    expect((await tools()).length).toBeGreaterThan(0);
    await expect.poll(() => marked(mark).length).toBeGreaterThan(1);
    await close();
    expect(marked(mark)).toEqual([]);
    expect(words(await use("test__add", { a: 1, b: 1 }))).toBe("test is closed.");
  });

  it("can be closed before they are connected", async () => {
    const mark = randomUUID();
    const { tools, close } = connected([program({}, "--mute", mark)]);
    await close();
    expect(await tools()).toEqual([]);
    expect(marked(mark)).toEqual([]);
  });
});

describe("a server over HTTP", () => {
  it("gets the headers from the editor", async () => {
    const { url, seen } = await httpServer();
    const headers = [{ name: "Authorization", value: "Bearer very-secret-token" }];
    const { use, problems } = connected([{ type: "http", name: "web", url, headers }]);
    expect(words(await use("web__add", { a: 1, b: 2 }))).toBe("3");
    expect(problems).toEqual([]);
    expect(new Set(seen.map((request) => request.headers.authorization))).toEqual(
      new Set(["Bearer very-secret-token"]),
    );
  });

  it("may use the older SSE transport", async () => {
    const { url, seen } = await sseServer();
    const headers = [{ name: "X-Key", value: "very-secret-key" }];
    const { use, problems } = connected([{ type: "sse", name: "old", url, headers }]);
    expect(words(await use("old__add", { a: 1, b: 2 }))).toBe("3");
    expect(problems).toEqual([]);
    expect(new Set(seen.map((request) => request.headers["x-key"]))).toEqual(new Set(["very-secret-key"]));
  });

  it("that denies access is reported without its secrets", async () => {
    const { url } = await httpServer({ status: 401 });
    const headers = [{ name: "Authorization", value: "Bearer very-secret-token" }];
    const { tools, problems } = connected([
      { type: "http", name: "web", url: `${url}?key=very-secret`, headers },
    ]);
    expect(await tools()).toEqual([]);
    expect(problems).toEqual(["web denies access (401): check the headers in the editor's settings."]);
  });

  it("that goes offline fails calls, and is used again when it is back", async () => {
    const first = await httpServer();
    const { use } = connected([{ type: "http", name: "web", url: first.url, headers: [] }]);
    expect(words(await use("web__add", { a: 1, b: 2 }))).toBe("3");
    await first.close();
    expect(words(await use("web__add", { a: 1, b: 2 }))).toMatch(/^web ended before it answered\./);
    await httpServer({ port: first.port });
    await expect.poll(async () => words(await use("web__add", { a: 1, b: 2 }))).toBe("3");
  });
});

interface Served {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly IncomingMessage[];
  close(): Promise<void>;
}

/** The test server behind HTTP, for one test. */
function httpServer({ status, port }: { status?: number; port?: number } = {}): Promise<Served> {
  const handler = createMcpHandler(testServer);
  return served(async (request, response) => {
    if (status !== undefined) return void response.writeHead(status).end();
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      `${value}`,
    ]);
    const { method = "GET" } = request;
    const body = method === "POST" ? { body: await textIn(request) } : {};
    const answer = await handler.fetch(new Request("http://127.0.0.1/mcp", { method, headers, ...body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) for await (const chunk of answer.body) response.write(chunk);
    response.end();
  }, port);
}

/** The same with the older SSE transport, which sends all answers on one stream. */
function sseServer(): Promise<Served> {
  let stream: Transport | undefined;
  return served(async (request, response) => {
    if (request.method === "POST") {
      stream?.onmessage?.(JSON.parse(await textIn(request)));
      response.writeHead(202).end();
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("event: endpoint\ndata: /messages\n\n");
    stream = {
      start: async () => {},
      send: async (message) => void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
      close: async () => void response.end(),
    };
    await testServer().connect(stream);
  });
}

async function served(
  answer: (...given: Parameters<RequestListener>) => Promise<void>,
  port = 0,
): Promise<Served> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  const at = (server.address() as AddressInfo).port;
  return { url: `http://127.0.0.1:${at}/mcp`, port: at, seen, close };
}

async function textIn(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

/** The running processes with this mark, without zombies. */
function marked(mark: string): number[] {
  const { stdout } = spawnSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => {
    const [pid, state = "Z"] = line.trim().split(/\s+/);
    return line.includes(mark) && !state.startsWith("Z") ? [Number(pid)] : [];
  });
}
