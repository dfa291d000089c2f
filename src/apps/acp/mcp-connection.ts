import type { McpServer } from "@agentclientprotocol/sdk/unstable";
import {
  Client,
  type Tool as McpTool,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { toFailedOutput } from "../../agents/call-tool.ts";
import { PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";
import type { ToolOutput } from "../../ports/tool.ts";
import { readVersion } from "../cli/version.ts";
import { collectSecrets, createLogMask } from "../log/secrets.ts";
import { toToolOutput } from "./mcp-output.ts";
import { createMcpTransport } from "./mcp-transport.ts";

export interface McpConnectionOptions {
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly connectMs: number;
  readonly callMs: number;
  /** The server has changed its list of tools. */
  onToolsChanged(): void;
}

/** The connection to one MCP server of the editor. */
export interface McpConnection {
  /** The tools, or a sentence with the reason why there are none. Never rejects. */
  readonly ready: Promise<readonly McpTool[] | string>;
  /** The last list of tools; empty while the server starts. */
  tools(): readonly McpTool[];
  /** Never rejects: an error is a failed output. */
  call(tool: string, args: unknown, signal: AbortSignal): Promise<ToolOutput>;
  /** Resolves when the connection is closed and its process has ended. */
  close(): Promise<void>;
}

interface OpenConnection {
  readonly client: Client;
  isBroken: boolean;
  /** Resolves when the client and its transport are closed. Never rejects. */
  end(): Promise<void>;
}

const MAX_STDERR_LENGTH = 2000;
/** A server that changes several tools sends a notification for each. */
const RELIST_DEBOUNCE_MS = 50;
const CLOSE_TIMEOUT_MS = 1000;

/**
 * Connects at once. If the server ends by itself, the next call fails, because the state of the server is lost; then it
 * reconnects.
 */
export function mcpConnection(server: McpServer, options: McpConnectionOptions): McpConnection {
  const { name } = server;
  const { log, callMs } = options;
  const closing = new AbortController();
  const ends = new Set<() => Promise<void>>();
  const { mask } = buildServerMasking(server);
  let currentTools: readonly McpTool[] = [];
  let link = connect();
  const ready = link.then((made) => (typeof made === "string" ? made : currentTools));

  function setTools(tools: readonly McpTool[]): void {
    currentTools = tools;
    if (!closing.signal.aborted) options.onToolsChanged();
  }

  async function connect(): Promise<OpenConnection | string> {
    const onChanged = (error: Error | null, tools: McpTool[] | null): void => {
      if (tools !== null) setTools(tools);
      else if (!closing.signal.aborted)
        log.warn({ server: name, error }, "the changed tools of the server could not be listed");
    };
    const client = new Client(
      { name: "postrider", version: readVersion() },
      { listChanged: { tools: { onChanged, debounceMs: RELIST_DEBOUNCE_MS } } },
    );
    let transport: Transport | undefined;
    const made: OpenConnection = {
      client,
      isBroken: false,
      end: runOnce(() => disconnect(client, transport)),
    };
    ends.add(made.end);
    const timedOut = AbortSignal.timeout(options.connectMs);
    const signal = AbortSignal.any([closing.signal, timedOut]);
    const request = { signal, timeout: options.connectMs };
    try {
      const onStderrLine = (line: string): void =>
        log.info({ server: name }, mask(line.slice(0, MAX_STDERR_LENGTH)));
      transport = await createMcpTransport(server, { ...options, onStderrLine });
      client.onclose = () => {
        made.isBroken = true;
      };
      await raceAbort(client.connect(transport, request), signal);
      const { tools } = await raceAbort(client.listTools(undefined, request), signal);
      setTools(tools);
      return made;
    } catch (error) {
      void made.end(); // not awaited, so that nobody waits longer for the tools
      return `${name} ${describeConnectError(error, timedOut.aborted, options.connectMs)}.`;
    }
  }

  /** Several calls may notice the same lost connection: only the first one reconnects. */
  function reconnect(lost: typeof link, former: OpenConnection | string): void {
    if (closing.signal.aborted || link !== lost) return;
    if (typeof former !== "string") void former.end();
    link = connect();
  }

  async function call(tool: string, args: unknown, signal: AbortSignal): Promise<ToolOutput> {
    if (closing.signal.aborted) return toFailedOutput(`${name} is closed.`);
    const asked = link;
    const current = await raceAbort(asked, signal).catch(
      () => `${name} was not called: the turn was stopped first.`,
    );
    if (signal.aborted) return toFailedOutput(`${name} was not called: the turn was stopped first.`);
    if (typeof current === "string" || current.isBroken) {
      reconnect(asked, current);
      return toFailedOutput(typeof current === "string" ? current : `${name} had ended. ${RECONNECT_NOTICE}`);
    }
    try {
      const params = { name: tool, arguments: args as Record<string, unknown> };
      const result = await current.client.request(
        { method: "tools/call", params },
        { signal: AbortSignal.any([signal, closing.signal]), timeout: callMs, maxTotalTimeout: callMs },
      );
      return toToolOutput(result, mask);
    } catch (error) {
      if (signal.aborted) return toFailedOutput(`${name} was stopped.`);
      if (closing.signal.aborted) return toFailedOutput(`${name} is closed.`);
      if (error instanceof ProtocolError) return toFailedOutput(mask(error.message));
      if (isTimeout(error)) return toFailedOutput(`${name} did not answer within ${callMs / 1000} s.`);
      if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
        return toFailedOutput(`${name} sent an answer that is not valid.`);
      reconnect(asked, current);
      return toFailedOutput(`${name} ended before it answered. ${RECONNECT_NOTICE}`);
    }
  }

  return {
    ready,
    tools: () => currentTools,
    call,
    async close() {
      closing.abort();
      await link;
      await Promise.all([...ends].map((end) => end()));
    },
  };
}

const RECONNECT_NOTICE = "Postrider reconnects for the next call; the state of the server is lost.";

function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

/** Names only the kind of error: messages may contain the URL, and servers repeat secrets that they were sent. */
function describeConnectError(error: unknown, isTimedOut: boolean, ms: number): string {
  if (error instanceof PostriderError) return error.message;
  if (isTimedOut || isTimeout(error)) return `did not answer within ${ms / 1000} s`;
  const status = error instanceof SdkHttpError ? error.status : (error as { code?: unknown }).code;
  if (status === 401 || status === 403)
    return `denies access (${status}): check the headers in the editor's settings`;
  if (typeof status === "number" && status >= 300 && status < 600)
    return `cannot be used: it answers with ${status}`;
  const code = findErrorCode(error);
  if (code !== undefined && code !== "EPIPE") return `cannot be reached (${code})`;
  return "could not be connected: it ended, or does not support MCP";
}

/** The system error code is somewhere in the chain of causes. */
function findErrorCode(error: unknown, depth = 0): string | undefined {
  if (typeof error !== "object" || error === null || depth > 5) return undefined;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return (
    findErrorCode(cause, depth + 1) ?? (typeof code === "string" && /^E[A-Z]+$/.test(code) ? code : undefined)
  );
}

/** Masks the secrets in the variables, headers and URL of a server. */
function buildServerMasking(server: McpServer): ReturnType<typeof createLogMask> {
  const mask = createLogMask();
  const named = "env" in server ? server.env : "headers" in server ? server.headers : [];
  const values = Object.fromEntries(named.map(({ name, value }) => [name.replaceAll("-", "_"), value]));
  const query =
    "url" in server && URL.canParse(server.url) ? [...new URL(server.url).searchParams.values()] : [];
  const bearer = named.flatMap(({ name, value }) =>
    /^authorization$/i.test(name) ? [value.replace(/^\S+\s+/, "")] : [],
  );
  mask.addSecrets([...collectSecrets(values), ...query, ...bearer]);
  return mask;
}

async function disconnect(client: Client, transport: Transport | undefined): Promise<void> {
  if (transport instanceof StreamableHTTPClientTransport) {
    const terminated = transport.terminateSession().catch(() => {});
    await raceAbort(terminated, AbortSignal.timeout(CLOSE_TIMEOUT_MS)).catch(() => {});
  }
  await client.close().catch(() => {});
  await transport?.close().catch(() => {}); // in case the client had not started it
}

function runOnce(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= act();
    return done;
  };
}

/** Rejects when the signal aborts. A later rejection of the promise is ignored. */
async function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const abort = (): void => stopped.reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, stopped.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
