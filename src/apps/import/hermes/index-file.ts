import { readFileSync } from "node:fs";
import { expectObject } from "../../../core/json.ts";
import { listKnownPlatforms } from "../../../core/platforms.ts";
import { type Source, sourceFromJson } from "../../../core/source.ts";
import type { InstantReader } from "./instant-reader.ts";
import { parsePythonJson } from "./lossless-json.ts";

/** One entry of the index: a chat and its current session. */
export interface IndexEntry {
  readonly key: string;
  readonly session: string;
  readonly createdAt?: number;
  readonly updatedAt?: number;
  /** The chat, or the reason why it is not known. */
  readonly chat: { readonly source: Source } | { readonly why: string };
  /** All fields of the entry, including counters. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface HermesIndex {
  readonly entries: readonly IndexEntry[];
  /** Entries without a session. */
  readonly broken: readonly { readonly key: string; readonly why: string }[];
}

/** Platforms that are not in Postrider's own list; their chats continue too. */
const LATER_PLATFORMS = ["feishu", "wecom", "weixin", "bluebubbles", "qqbot"];

export function isKnownPlatform(name: string): boolean {
  return listKnownPlatforms().includes(name) || LATER_PLATFORMS.includes(name);
}

/** Reads the index. Throws when the file is not an index. */
export function readIndex(file: string, readInstant: InstantReader): HermesIndex {
  const json = parsePythonJson(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  const entries: IndexEntry[] = [];
  const broken: { key: string; why: string }[] = [];
  for (const [key, value] of Object.entries(expectObject(json, "sessions.json"))) {
    const fields =
      typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
    const session = fields.session_id;
    if (typeof session !== "string" || session === "") {
      broken.push({ key, why: "the entry names no session" });
      continue;
    }
    const [createdAt, updatedAt] = [readInstant(fields.created_at), readInstant(fields.updated_at)];
    entries.push({
      key,
      session,
      ...(createdAt !== undefined && { createdAt }),
      ...(updatedAt !== undefined && { updatedAt }),
      chat: mapChat(key, fields.origin),
      fields,
    });
  }
  return { entries, broken };
}

function mapChat(key: string, origin: unknown): IndexEntry["chat"] {
  if (origin === undefined || origin === null) return { why: "the entry has no origin" };
  let source: Source;
  try {
    source = sourceFromJson(origin);
  } catch (error) {
    return { why: `its origin is invalid: ${(error as Error).message}` };
  }
  if (!isKnownPlatform(source.platform)) return { why: `the platform ${source.platform} is unknown` };
  const begins = `agent:main:${source.platform}:${source.chatType}`;
  if (key !== begins && !key.startsWith(`${begins}:`))
    return { why: "its key and its origin name different chats" };
  return { source };
}
