import type { AnyMessage, McpServer } from "@agentclientprotocol/sdk/unstable";

/** The key in `_meta` for the sentences about servers that were left out. */
const LEFT_OUT_KEY = "postrider/mcp_servers_left_out";
const METHODS: ReadonlySet<string> = new Set([
  "session/new",
  "session/load",
  "session/resume",
  "session/fork",
]);

/** Removes malformed entries of `mcpServers` before the protocol library would refuse the whole request for them. */
export function leaveOutMalformedServers(): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform: (message, controller) => controller.enqueue(checkServerEntries(message)),
  });
}

/** The sentences about entries that were left out of a request. */
export function readLeftOutServers({ _meta }: { readonly _meta?: unknown }): readonly string[] {
  const sentences = toFields(_meta)?.[LEFT_OUT_KEY];
  return Array.isArray(sentences) ? sentences.filter((one) => typeof one === "string") : [];
}

function checkServerEntries(message: AnyMessage): AnyMessage {
  if (!("method" in message) || !METHODS.has(message.method)) return message;
  const params = toFields(message.params);
  if (params === undefined || !Array.isArray(params.mcpServers)) return message;
  const entries = params.mcpServers.map(parseServer);
  const leftOut = entries.filter((entry) => typeof entry === "string");
  const mcpServers = entries.filter((entry) => typeof entry !== "string");
  const meta = { ...toFields(params._meta), [LEFT_OUT_KEY]: leftOut };
  return { ...message, params: { ...params, mcpServers, _meta: meta } };
}

/** The entry with defaults for missing lists, or a sentence with the reason why it cannot be used. */
function parseServer(entry: unknown, index: number): McpServer | string {
  const fields = toFields(entry);
  const name = typeof fields?.name === "string" && fields.name !== "" ? fields.name : undefined;
  const label = name === undefined ? `number ${index + 1}` : name;
  const leftOut = (why: string): string => `The MCP server ${label} is left out: ${why}.`;
  if (fields === undefined) return leftOut("it is not an object");
  if (name === undefined) return leftOut("it has no name");
  const { type } = fields;
  if (type === undefined || type === "stdio") {
    const { command, args = [], env = [], ...more } = fields;
    if (typeof command !== "string") return leftOut("its command is not a string");
    if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string"))
      return leftOut("its args are not a list of strings");
    if (!isNameValueList(env)) return leftOut("its env is not a list of objects with name and value");
    return { ...more, name, command, args, env } as McpServer;
  }
  if (type === "http" || type === "sse") {
    const { url, headers = [], ...more } = fields;
    if (typeof url !== "string") return leftOut("its url is not a string");
    if (!isNameValueList(headers))
      return leftOut("its headers are not a list of objects with name and value");
    return { ...more, name, url, headers } as McpServer;
  }
  return leftOut(`its type ${JSON.stringify(type)} is not one of stdio, http and sse`);
}

function isNameValueList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((one) => typeof toFields(one)?.name === "string" && typeof toFields(one)?.value === "string")
  );
}

function toFields(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}
