import type { McpServer } from "@agentclientprotocol/sdk/unstable";
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import type { Log } from "../../ports/log.ts";
import type { Tool } from "../../ports/tool.ts";
import { pause } from "../../system/pause.ts";
import type { McpConnection } from "./mcp-connection.ts";

/** The MCP servers that the editor configures for a session. */
export interface McpServers {
  /** The tools when each server has connected or failed, at the latest after `waitMs`. Never rejects. */
  tools(): Promise<readonly Tool[]>;
  /** The tools of the servers that are connected now. */
  currentTools(): readonly Tool[];
  /** A sentence for each server that cannot be used. Complete when `tools` has resolved. */
  readonly problems: readonly string[];
  /** Resolves when all server processes have ended. */
  close(): Promise<void>;
}

export interface McpServersOptions {
  /** The working directory of the server processes. */
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly log: Log;
  /** Sentences about entries that cannot be used at all. */
  readonly leftOut?: readonly string[];
  /** Reports the state of a server that starts slowly. */
  notify?(sentence: string): void;
  /** `currentTools` has changed. */
  onToolsChanged?(): void;
  /** How long a turn waits for the servers. */
  readonly waitMs?: number;
  readonly connectMs?: number;
  readonly callMs?: number;
}

const WAIT_MS = 10_000;
const CONNECT_MS = 60_000;
const CALL_MS = 5 * 60_000;
const MAX_NAME_LENGTH = 64;

interface ServerConnection {
  readonly server: McpServer;
  readonly connection: McpConnection;
}

/** Connects in the background: opening the session does not wait, only the first turn does. */
export function connectMcpServers(servers: readonly McpServer[], options: McpServersOptions): McpServers {
  const { waitMs = WAIT_MS, connectMs = CONNECT_MS, callMs = CALL_MS, log, notify } = options;
  const { leftOut = [] } = options;
  for (const sentence of leftOut) log.warn({}, sentence);
  const unusable = new Map<McpServer, string>();
  /** In the order of the servers. */
  const problems: string[] = [...leftOut];
  const names = buildToolNamer();
  const closing = new AbortController();
  let connected: readonly ServerConnection[] = [];
  /** Servers that have neither connected nor failed. */
  const starting = new Set(servers);
  let isLate = false;
  const connections = Promise.all(servers.map(connect)).then((all) => {
    connected = all;
    return all;
  });
  const settled = connections.then((all) => Promise.all(all.map(settle)));
  const waited = Promise.race([settled, pause(waitMs, closing.signal)]).then(reportSlowServers);

  async function connect(server: McpServer): Promise<ServerConnection> {
    // The client is loaded only for sessions that have servers.
    const { mcpConnection } = await import("./mcp-connection.ts");
    const onToolsChanged = (): void => options.onToolsChanged?.();
    return {
      server,
      connection: mcpConnection(server, { ...options, connectMs, callMs, onToolsChanged }),
    };
  }

  async function settle({ server, connection }: ServerConnection): Promise<void> {
    const ready = await connection.ready;
    starting.delete(server);
    if (typeof ready === "string") {
      unusable.set(server, ready);
      problems.splice(leftOut.length, problems.length, ...servers.flatMap((one) => unusable.get(one) ?? []));
      log.warn({ server: server.name }, ready);
    }
    if (closing.signal.aborted) return;
    options.onToolsChanged?.();
    if (!isLate) return;
    notify?.(typeof ready === "string" ? ready : `${server.name} is ready: ${formatToolCount(ready)}.`);
  }

  function reportSlowServers(): void {
    isLate = true;
    if (closing.signal.aborted) return;
    for (const { name } of starting)
      notify?.(`${name} is still starting; its tools join the thread when it is ready.`);
  }

  function current(): readonly Tool[] {
    return connected.flatMap(({ server, connection }, index) =>
      connection
        .tools()
        .map((tool) => toTool(tool, server.name, connection, names(index, server.name, tool.name))),
    );
  }

  return {
    async tools() {
      await waited;
      return current();
    },
    currentTools: current,
    problems,
    async close() {
      closing.abort();
      await Promise.all((await connections).map(({ connection }) => connection.close()));
      await settled;
    },
  };
}

function formatToolCount({ length }: readonly McpTool[]): string {
  return length === 1 ? "1 tool" : `${length} tools`;
}

function toTool(tool: McpTool, server: string, connection: McpConnection, toolName: string): Tool {
  const { name, title, description, inputSchema, annotations } = tool;
  const isReading = annotations?.readOnlyHint === true;
  return {
    name: toolName,
    description: description || title || annotations?.title || name,
    input: inputSchema,
    effect: isReading ? "none" : "external",
    ...(!isReading && {
      buildApprovalRequest: (args) => ({
        title: `use ${name} of ${server}`,
        detail: JSON.stringify(args, null, 2),
        pattern: `mcp:${server}/${name}`,
      }),
    }),
    run: (args, { signal }) => connection.call(name, args, signal),
  };
}

/** Unique tool names that models accept. A tool keeps its name when other tools change. */
function buildToolNamer(): (index: number, server: string, tool: string) => string {
  const taken = new Set<string>();
  const names = new Map<string, string>();
  return (index, server, tool) => {
    const key = JSON.stringify([index, tool]);
    const known = names.get(key);
    if (known !== undefined) return known;
    const clean = `${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_");
    let free = clean.slice(0, MAX_NAME_LENGTH);
    for (let number = 2; taken.has(free); number += 1) {
      const ending = `_${number}`;
      free = clean.slice(0, MAX_NAME_LENGTH - ending.length) + ending;
    }
    taken.add(free);
    names.set(key, free);
    return free;
  };
}
