import type { McpServer } from "@agentclientprotocol/sdk/unstable";
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import type { Log } from "../../ports/log.ts";
import type { Tool } from "../../ports/tool.ts";
import type { McpConnection } from "./mcp-connection.ts";

/** The servers that an editor gives with a session. */
export interface McpServers {
  /** What they all offer, once each has said or has had its time. Never fails. */
  tools(): Promise<readonly Tool[]>;
  /** A sentence for each server that cannot be used, once `tools` has resolved. */
  readonly problems: readonly string[];
  /** Resolves when none of their programs runs any more. */
  close(): Promise<void>;
}

export interface McpServersOptions {
  /** The folder in which their programs run. */
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly connectMs?: number;
  readonly callMs?: number;
}

const CONNECT_MS = 10_000;
const CALL_MS = 5 * 60_000;
const LONGEST_NAME = 64;

/** Connects in the background: whoever opened the session need not wait, only whoever needs the tools. */
export function connectMcpServers(servers: readonly McpServer[], options: McpServersOptions): McpServers {
  const { connectMs = CONNECT_MS, callMs = CALL_MS, log } = options;
  const problems: string[] = [];
  const connections = Promise.all(servers.map(connection));

  async function connection(server: McpServer) {
    // The client is loaded only for sessions that have servers.
    const { mcpConnection } = await import("./mcp-connection.ts");
    return { server, made: mcpConnection(server, { ...options, connectMs, callMs }) };
  }

  async function offered(): Promise<readonly Tool[]> {
    const free = uniqueNames();
    const tools: Tool[] = [];
    for (const { server, made } of await connections) {
      const ready = await made.ready;
      if (typeof ready === "string") {
        problems.push(ready);
        log.warn({ server: server.name }, ready);
      } else tools.push(...ready.map((tool) => toolOf(tool, server.name, made, free)));
    }
    return tools;
  }

  const all = offered();
  return {
    tools: () => all,
    problems,
    async close() {
      await Promise.all((await connections).map(({ made }) => made.close()));
      await all;
    },
  };
}

function toolOf(
  tool: McpTool,
  server: string,
  connection: McpConnection,
  free: (name: string) => string,
): Tool {
  const { name, title, description, inputSchema, annotations } = tool;
  const isReading = annotations?.readOnlyHint === true;
  return {
    name: free(`${server}__${name}`),
    description: description || title || annotations?.title || name,
    input: inputSchema,
    effect: isReading ? "none" : "external",
    ...(!isReading && {
      asks: (given) => ({
        title: `use ${name} of ${server}`,
        detail: JSON.stringify(given, null, 2),
        pattern: `mcp:${server}/${name}`,
      }),
    }),
    run: (given, { signal }) => connection.call(name, given, signal),
  };
}

/** Names as models may call tools, none of them twice. */
function uniqueNames(): (name: string) => string {
  const taken = new Set<string>();
  return (name) => {
    const clean = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
    let free = clean.slice(0, LONGEST_NAME);
    for (let number = 2; taken.has(free); number += 1) {
      const ending = `_${number}`;
      free = clean.slice(0, LONGEST_NAME - ending.length) + ending;
    }
    taken.add(free);
    return free;
  };
}
