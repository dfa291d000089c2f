import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { McpServer, McpServerStdio } from "@agentclientprotocol/sdk/unstable";
import type { Transport } from "@modelcontextprotocol/client";
import { PostriderError } from "../../core/errors.ts";
import { AGENT_MARK } from "../../processes/agent-mark.ts";
import { agentEnvironment } from "../../processes/child-environment.ts";

export interface ServerPlace {
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  complains(line: string): void;
}

/** How a server is spoken with. Throws a sentence that says what is wrong with what the editor gave. */
export async function transportFor(server: McpServer, place: ServerPlace): Promise<Transport> {
  if ("command" in server) return programOf(server, place);
  if (server.type === "acp") throw wrong("is reached over the editor itself, which Postrider does not do");
  const url = addressOf(server.url);
  const requestInit = { headers: headersOf(server.headers) };
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return server.type === "sse"
    ? new SSEClientTransport(url, { requestInit })
    : new StreamableHTTPClientTransport(url, { requestInit });
}

async function programOf({ command, args, env }: McpServerStdio, place: ServerPlace): Promise<Transport> {
  const { cwd, environment, complains } = place;
  const given = env.flatMap(({ name, value }) => (name === AGENT_MARK ? [] : [[name, value] as const]));
  const all = { ...agentEnvironment(environment), ...Object.fromEntries(given) };
  const { programTransport } = await import("./mcp-program.ts");
  return programTransport({ command: found(command, all.PATH ?? ""), args, env: all, cwd, complains });
}

/** The file that a command means: a path from the root, or what stands first on the path. */
function found(command: string, path: string): string {
  if (isAbsolute(command)) {
    if (isProgram(command)) return command;
    throw wrong(`cannot be started: ${command} is no program`);
  }
  if (command === "" || command.includes("/") || command.includes("\0"))
    throw wrong("cannot be started: its command must be an absolute path, or a name that is found on PATH");
  const folder = path.split(delimiter).find((one) => isAbsolute(one) && isProgram(join(one, command)));
  if (folder !== undefined) return join(folder, command);
  throw wrong(`cannot be started: ${command} is not found on PATH`);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw wrong("cannot be reached: its address is not one of http or https");
}

function headersOf(given: readonly { readonly name: string; readonly value: string }[]): Headers {
  try {
    return new Headers(given.map(({ name, value }): [string, string] => [name, value]));
  } catch {
    throw wrong("cannot be reached: one of its headers cannot be sent"); // not which: its value is in the reason
  }
}

/** To be said behind the server's name. */
function wrong(words: string): PostriderError {
  return new PostriderError("invalid_input", words);
}
