import type { McpServer } from "@agentclientprotocol/sdk/unstable";
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import type { Log } from "../../ports/log.ts";
import type { Tool } from "../../ports/tool.ts";
import { pause } from "../../system/pause.ts";
import type { McpConnection } from "./mcp-connection.ts";

/** The servers that an editor gives with a session. */
export interface McpServers {
  /** What they offer by now: once each has answered or failed, or `waitMs` after they were started. Never fails. */
  tools(): Promise<readonly Tool[]>;
  /** What they offer at this moment. */
  currentTools(): readonly Tool[];
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
  /** What is known already to be wrong with what the editor gave. */
  readonly leftOut?: readonly string[];
  /** Tells the person what becomes of a server that starts slowly. */
  notify?(sentence: string): void;
  /** `current` gives something else now. */
  onToolsChanged?(): void;
  /** How long a turn waits for them. */
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

/** Connects in the background: whoever opened the session need not wait, only whoever needs the tools. */
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
  /** Those that have neither tools nor a problem yet. */
  const starting = new Set(servers);
  let isLate = false;
  const connections = Promise.all(servers.map(connect)).then((all) => {
    connected = all;
    return all;
  });
  const settled = connections.then((all) => Promise.all(all.map(settle)));
  const waited = Promise.race([settled, pause(waitMs, closing.signal)]).then(tellLate);

  async function connect(server: McpServer): Promise<ServerConnection> {
    // The client is loaded only for sessions that have servers.
    const { mcpConnection } = await import("./mcp-connection.ts");
    const changed = (): void => options.onToolsChanged?.();
    return {
      server,
      connection: mcpConnection(server, { ...options, connectMs, callMs, onToolsChanged: changed }),
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

  function tellLate(): void {
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

function toTool(tool: McpTool, server: string, connection: McpConnection, called: string): Tool {
  const { name, title, description, inputSchema, annotations } = tool;
  const isReading = annotations?.readOnlyHint === true;
  return {
    name: called,
    description: description || title || annotations?.title || name,
    input: inputSchema,
    effect: isReading ? "none" : "external",
    ...(!isReading && {
      buildApprovalRequest: (given) => ({
        title: `use ${name} of ${server}`,
        detail: JSON.stringify(given, null, 2),
        pattern: `mcp:${server}/${name}`,
      }),
    }),
    run: (given, { signal }) => connection.call(name, given, signal),
  };
}

/** Names as models may call tools, none of them twice; a tool keeps its name while others come and go. */
function buildToolNamer(): (index: number, server: string, tool: string) => string {
  const taken = new Set<string>();
  const given = new Map<string, string>();
  return (index, server, tool) => {
    const key = JSON.stringify([index, tool]);
    const known = given.get(key);
    if (known !== undefined) return known;
    const clean = `${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_");
    let free = clean.slice(0, MAX_NAME_LENGTH);
    for (let number = 2; taken.has(free); number += 1) {
      const ending = `_${number}`;
      free = clean.slice(0, MAX_NAME_LENGTH - ending.length) + ending;
    }
    taken.add(free);
    given.set(key, free);
    return free;
  };
}
