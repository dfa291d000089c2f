import { messageToJson } from "../../core/json.ts";
import type { Hit, SearchNeighbour } from "../../core/listing.ts";
import type { Message } from "../../core/message.ts";

/** JSON formats that several commands print; see docs/json.md. Absent fields are null. */

const MESSAGE_FIELDS = [
  "session",
  "seq",
  "at",
  "role",
  "parts",
  "tool_calls",
  "tool_call_id",
  "tool_name",
  "reasoning",
  "finish_reason",
  "token_count",
  "origin",
  "extra",
];
const PART_FIELDS = ["type", "text", "blob", "mime_type", "size", "name", "uri"];
const ORIGIN_FIELDS = ["platform", "platform_message_id", "user_id", "user_name", "proactive", "interrupted"];

export function formatMessageJson(message: Message): Record<string, unknown> {
  const json = messageToJson(message);
  const { parts, origin } = json as { parts: readonly object[]; origin?: object };
  return {
    ...fillMissing(json, MESSAGE_FIELDS),
    parts: parts.map((part) => fillMissing(part, PART_FIELDS)),
    origin: origin === undefined ? null : fillMissing(origin, ORIGIN_FIELDS),
  };
}

export function formatHitJson(hit: Hit): Record<string, unknown> {
  return {
    session: hit.session,
    handle: hit.handle,
    title: hit.title ?? null,
    platform: hit.platform ?? null,
    seq: hit.seq,
    at: hit.at,
    role: hit.role,
    snippet: hit.snippet,
    before: formatNeighbourJson(hit.before),
    after: formatNeighbourJson(hit.after),
  };
}

function formatNeighbourJson(neighbour: SearchNeighbour | undefined): object | null {
  return neighbour === undefined ? null : { role: neighbour.role, text: neighbour.text };
}

function fillMissing(json: object, names: readonly string[]): Record<string, unknown> {
  const fields = json as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.map((name) => [name, fields[name] ?? null]));
}
