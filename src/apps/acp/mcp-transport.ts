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

/** How a server is spoken with. Throws a sentence that says what is wrong with what the editor gave. */
export async function createMcpTransport(server: McpServer, place: McpServerContext): Promise<Transport> {
  if ("command" in server) return createStdioTransport(server, place);
  if (server.type === "acp")
    throw invalidServer("is reached over the editor itself, which Postrider does not do");
  const url = parseServerUrl(server.url);
  const requestInit = { headers: toHeaders(server.headers) };
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return server.type === "sse"
    ? new SSEClientTransport(url, { requestInit })
    : new StreamableHTTPClientTransport(url, { requestInit });
}

async function createStdioTransport(
  { command, args, env }: McpServerStdio,
  place: McpServerContext,
): Promise<Transport> {
  const { cwd, environment, onStderrLine } = place;
  const given = env.flatMap(({ name, value }) => (name === AGENT_MARK ? [] : [[name, value] as const]));
  const all = { ...buildAgentEnvironment(environment), ...Object.fromEntries(given) };
  const { mcpStdioTransport: programTransport } = await import("./mcp-stdio-transport.ts");
  return programTransport({
    command: findExecutable(command, all.PATH ?? ""),
    args,
    env: all,
    cwd,
    onStderrLine,
  });
}

/** The file that a command means: a path from the root, or what stands first on the path. */
function findExecutable(command: string, path: string): string {
  if (isAbsolute(command)) {
    if (isExecutable(command)) return command;
    throw invalidServer(`cannot be started: ${command} is no program`);
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
  throw invalidServer("cannot be reached: its address is not one of http or https");
}

function toHeaders(given: readonly { readonly name: string; readonly value: string }[]): Headers {
  try {
    return new Headers(given.map(({ name, value }): [string, string] => [name, value]));
  } catch {
    throw invalidServer("cannot be reached: one of its headers cannot be sent"); // not which: its value is in the reason
  }
}

/** To be said behind the server's name. */
function invalidServer(words: string): PostriderError {
  return new PostriderError("invalid_input", words);
}
