import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** An MCP server with every kind of result. */
export function testServer(): McpServer {
  const server = new McpServer({ name: "test", version: "1.0.0" }, { capabilities: { tools: {} } });
  const numbers = z.object({ a: z.number(), b: z.number() });
  server.registerTool(
    "add",
    { description: "Adds.", inputSchema: numbers, annotations: { readOnlyHint: true } },
    async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
  );
  const file = z.object({ file: z.string() });
  server.registerTool("note", { description: "Notes.", inputSchema: file }, async (given) => {
    appendFileSync(given.file, "noted\n");
    return { content: [{ type: "text", text: "noted" }] };
  });
  server.registerTool("refuse", { description: "Refuses." }, async () => ({
    content: [{ type: "text", text: "I refuse." }],
    isError: true,
  }));
  server.registerTool("show", { description: "Shows." }, async () => ({
    content: [
      { type: "image", data: "AQID", mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "in it" } },
      { type: "resource_link", uri: "file:///b.txt", name: "b" },
    ],
  }));
  server.registerTool("count", { outputSchema: z.object({ n: z.number() }) }, async () => ({
    content: [],
    structuredContent: { n: 3 },
  }));
  server.registerTool("see", { description: "Says what it sees." }, async () => ({
    content: [{ type: "text", text: JSON.stringify({ cwd: process.cwd(), env: process.env }) }],
  }));
  server.registerTool("hang", { description: "Never ends." }, () => new Promise<never>(() => {}));
  server.registerTool("die", { description: "Ends the server." }, async () => process.exit(3));
  // Both get the same name after unsupported characters are replaced.
  server.registerTool("a.b", { description: "One." }, async () => ({
    content: [{ type: "text", text: "." }],
  }));
  server.registerTool("a_b", { description: "Two." }, async () => ({
    content: [{ type: "text", text: "_" }],
  }));
  return server;
}

/** An MCP server that gets another tool with each call of `grow`. */
export function growingServer(): McpServer {
  const server = testServer();
  let count = 0;
  server.registerTool("grow", { description: "Adds a tool." }, async () => {
    count += 1;
    const name = `grown_${count}`;
    server.registerTool(name, { annotations: { readOnlyHint: true } }, async () => ({
      content: [{ type: "text", text: name }],
    }));
    return { content: [{ type: "text", text: "grown" }] };
  });
  return server;
}

/** An MCP server that answers only when this file exists. */
function whenReady(serve: () => void): void {
  const file = process.argv.find((word) => word.startsWith("--after="))?.slice("--after=".length);
  if (file === undefined || existsSync(file)) serve();
  else setTimeout(whenReady, 20, serve);
}

if (import.meta.main) {
  process.stderr.write(`here is ${process.env.TEST_TOKEN ?? "nobody"}\n`);
  // A server that ignores signals, with a child that ignores them too.
  if (process.argv.includes("--deaf")) {
    process.on("SIGTERM", () => {});
    const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
    spawn(process.execPath, ["-e", deaf, "--", ...process.argv.slice(2)], { stdio: "ignore" });
    setInterval(() => {}, 1000);
  }
  const server = process.argv.includes("--growing") ? growingServer : testServer;
  if (!process.argv.includes("--mute")) whenReady(() => void serveStdio(server));
  else setInterval(() => {}, 1000);
}
