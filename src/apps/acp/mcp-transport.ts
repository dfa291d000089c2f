import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { McpServer, McpServerStdio } from "@agentclientprotocol/sdk/unstable";
import type { Transport } from "@modelcontextprotocol/client";
import { PostriderError } from "../../core/errors.ts";
import { AGENT_MARK } from "../../processes/agent-mark.ts";
import { buildAgentEnvironment } from "../../processes/child-environment.ts";

export interface McpServerContext {
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  onStderrLine(line: string): void;
}

/** Throws an error with the reason if the editor's entry cannot be used. */
export async function createMcpTransport(server: McpServer, context: McpServerContext): Promise<Transport> {
  if ("command" in server) return createStdioTransport(server, context);
  if (server.type === "acp")
    throw invalidServer("uses the editor as its transport, which Postrider does not support");
  const url = parseServerUrl(server.url);
  const requestInit = { headers: toHeaders(server.headers) };
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return server.type === "sse"
    ? new SSEClientTransport(url, { requestInit })
    : new StreamableHTTPClientTransport(url, { requestInit });
}

async function createStdioTransport(
  { command, args, env }: McpServerStdio,
  context: McpServerContext,
): Promise<Transport> {
  const { cwd, environment, onStderrLine } = context;
  const variables = env.flatMap(({ name, value }) => (name === AGENT_MARK ? [] : [[name, value] as const]));
  const all = { ...buildAgentEnvironment(environment), ...Object.fromEntries(variables) };
  const { mcpStdioTransport } = await import("./mcp-stdio-transport.ts");
  return mcpStdioTransport({
    command: findExecutable(command, all.PATH ?? ""),
    args,
    env: all,
    cwd,
    onStderrLine,
  });
}

/** The executable file of a command: an absolute path, or the first match on PATH. */
function findExecutable(command: string, path: string): string {
  if (isAbsolute(command)) {
    if (isExecutable(command)) return command;
    throw invalidServer(`cannot be started: ${command} is not an executable file`);
  }
  if (command === "" || command.includes("/") || command.includes("\0"))
    throw invalidServer(
      "cannot be started: its command must be an absolute path, or a name that is found on PATH",
    );
  const folder = path.split(delimiter).find((one) => isAbsolute(one) && isExecutable(join(one, command)));
  if (folder !== undefined) return join(folder, command);
  throw invalidServer(`cannot be started: ${command} is not found on PATH`);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function parseServerUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw invalidServer("cannot be reached: its URL is not http or https");
}

function toHeaders(headers: readonly { readonly name: string; readonly value: string }[]): Headers {
  try {
    return new Headers(headers.map(({ name, value }): [string, string] => [name, value]));
  } catch {
    throw invalidServer("cannot be reached: one of its headers is not valid"); // the cause contains the value
  }
}

/** The sentence follows the name of the server. */
function invalidServer(sentence: string): PostriderError {
  return new PostriderError("invalid_input", sentence);
}
