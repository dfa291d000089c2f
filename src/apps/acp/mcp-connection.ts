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
  /** How long connecting may take. */
  readonly connectMs: number;
  /** How long a call may take. */
  readonly callMs: number;
  /** Its list of tools has changed. */
  onToolsChanged(): void;
}

/** One server of an editor. */
export interface McpConnection {
  /** Its tools, or a sentence why it has none. Never fails. */
  readonly ready: Promise<readonly McpTool[] | string>;
  /** Its tools as it has told them last; none while it starts. */
  tools(): readonly McpTool[];
  /** Never fails: what goes wrong is an output that has failed. */
  call(tool: string, given: unknown, signal: AbortSignal): Promise<ToolOutput>;
  /** Resolves when nothing of it is left. */
  close(): Promise<void>;
}

interface OpenConnection {
  readonly client: Client;
  isBroken: boolean;
  /** Resolves when nothing of it is left. Never fails. */
  end(): Promise<void>;
}

const MAX_STDERR_LENGTH = 2000;
/** Servers that change several tools tell of each: they are asked once. */
const RELIST_DEBOUNCE_MS = 50;
/** So long a server is given to hear that a session with it is over. */
const CLOSE_TIMEOUT_MS = 1000;

/**
 * Connects at once. A server that ends by itself costs the call that meets it, because what it knew is gone with it, and
 * is connected again for the call after that.
 */
export function mcpConnection(server: McpServer, options: McpConnectionOptions): McpConnection {
  const { name } = server;
  const { log, callMs } = options;
  const closing = new AbortController();
  const ends = new Set<() => Promise<void>>();
  const { mask } = buildServerMasking(server);
  let offered: readonly McpTool[] = [];
  let link = connect();
  const ready = link.then((made) => (typeof made === "string" ? made : offered));

  function offer(tools: readonly McpTool[]): void {
    offered = tools;
    if (!closing.signal.aborted) options.onToolsChanged();
  }

  async function connect(): Promise<OpenConnection | string> {
    const onChanged = (error: Error | null, tools: McpTool[] | null): void => {
      if (tools !== null) offer(tools);
      else if (!closing.signal.aborted)
        log.warn({ server: name, error }, "its tools could not be listed again");
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
    const late = AbortSignal.timeout(options.connectMs);
    const signal = AbortSignal.any([closing.signal, late]);
    const request = { signal, timeout: options.connectMs };
    try {
      const complains = (line: string): void =>
        log.info({ server: name }, mask(line.slice(0, MAX_STDERR_LENGTH)));
      transport = await createMcpTransport(server, { ...options, onStderrLine: complains });
      client.onclose = () => {
        made.isBroken = true;
      };
      await raceAbort(client.connect(transport, request), signal);
      const { tools } = await raceAbort(client.listTools(undefined, request), signal);
      offer(tools);
      return made;
    } catch (error) {
      void made.end(); // whoever waits for tools does not wait for that, too
      return `${name} ${describeConnectError(error, late.aborted, options.connectMs)}.`;
    }
  }

  /** Once for each that is lost, however many calls meet it. */
  function again(lost: typeof link, former: OpenConnection | string): void {
    if (closing.signal.aborted || link !== lost) return;
    if (typeof former !== "string") void former.end();
    link = connect();
  }

  async function call(tool: string, given: unknown, signal: AbortSignal): Promise<ToolOutput> {
    if (closing.signal.aborted) return toFailedOutput(`${name} is closed.`);
    const asked = link;
    const current = await raceAbort(asked, signal).catch(() => `${name} was not asked: stopped before.`);
    if (signal.aborted) return toFailedOutput(`${name} was not asked: stopped before.`);
    if (typeof current === "string" || current.isBroken) {
      again(asked, current);
      return toFailedOutput(typeof current === "string" ? current : `${name} had ended. ${RECONNECT_NOTICE}`);
    }
    try {
      const params = { name: tool, arguments: given as Record<string, unknown> };
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
        return toFailedOutput(`${name} gave an answer that cannot be understood.`);
      again(asked, current);
      return toFailedOutput(`${name} ended before it had answered. ${RECONNECT_NOTICE}`);
    }
  }

  return {
    ready,
    tools: () => offered,
    call,
    async close() {
      closing.abort();
      await link;
      await Promise.all([...ends].map((end) => end()));
    },
  };
}

const RECONNECT_NOTICE = "It is connected again for the next call, and knows nothing of what was before.";

function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

/** Of what went wrong only its kind is told: messages may hold the address, and servers repeat what they were sent. */
function describeConnectError(error: unknown, isLate: boolean, ms: number): string {
  if (error instanceof PostriderError) return error.message;
  if (isLate || isTimeout(error)) return `did not answer within ${ms / 1000} s`;
  const status = error instanceof SdkHttpError ? error.status : (error as { code?: unknown }).code;
  if (status === 401 || status === 403)
    return `does not let us in (${status}): look at the headers it is given`;
  if (typeof status === "number" && status >= 300 && status < 600)
    return `cannot be used: it answers with ${status}`;
  const code = findErrorCode(error);
  if (code !== undefined && code !== "EPIPE") return `cannot be reached (${code})`;
  return "could not be connected: it ended, or does not speak this protocol";
}

/** Somewhere down the chain of causes the system says what it was. */
function findErrorCode(error: unknown, depth = 0): string | undefined {
  if (typeof error !== "object" || error === null || depth > 5) return undefined;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return (
    findErrorCode(cause, depth + 1) ?? (typeof code === "string" && /^E[A-Z]+$/.test(code) ? code : undefined)
  );
}

/** What the editor gave the server as a secret is not written anywhere. */
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
    const told = transport.terminateSession().catch(() => {});
    await raceAbort(told, AbortSignal.timeout(CLOSE_TIMEOUT_MS)).catch(() => {});
  }
  await client.close().catch(() => {});
  await transport?.close().catch(() => {}); // one that the client had not taken over yet
}

function runOnce(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= act();
    return done;
  };
}

/** Rejects when the signal aborts: nobody waits for the other then, nor hears of its failure. */
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
