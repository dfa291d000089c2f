import { PostriderError } from "../core/errors.ts";
import { assertSessionId } from "../core/ids.ts";
import {
  asArray,
  asObject,
  type Json,
  messageFromJson,
  messageToJson,
  sessionToJson,
  usageFromJson,
} from "../core/json.ts";
import { checkMessage, type Message } from "../core/message.ts";
import { type Asker, OWNER } from "../core/owner.ts";
import { unrefused } from "../core/refusal.ts";
import { type NewSession, SESSION_KINDS, type Session, type SessionKind } from "../core/session.ts";
import { sourceFromJson } from "../core/source.ts";
import { cleanTitle } from "../core/titles.ts";
import { emptyUsage } from "../core/usage.ts";
import type { SeqRange } from "../core/view.ts";
import type { Store } from "../ports/store.ts";
import { readyMessages } from "./message-input.ts";

/** A session as plain JSON. `shows` and `hidden` are ranges of places in `messages`, counted from 1. */
export interface SessionExport {
  readonly format: "postrider.session";
  readonly version: 1;
  readonly session: Json;
  readonly messages: readonly Json[];
  readonly shows: readonly SeqRange[];
  readonly hidden: readonly SeqRange[];
  /** Bytes of parts, base64, by hash. */
  readonly blobs: Readonly<Record<string, string>>;
}

/** Everything a session said and everything it shows of others. Nothing it does not show of others leaves with it. */
export async function exportSession(
  store: Store,
  asker: Asker,
  id: string,
): Promise<SessionExport | undefined> {
  const [session] = await store.find({ asker, text: assertSessionId(id) });
  const shape = await store.shape({ asker, session: id });
  const own = await store.messages({ asker, session: id });
  const shown = await store.history({ asker, session: id });
  if (session?.id !== id || shape === undefined || own === undefined || shown === undefined) return undefined;
  const borrowed = shown.filter((message) => message.session !== id);
  const all = [...own, ...borrowed];
  const places = new Map(all.map((message, index) => [nameOf(message), index + 1]));
  return {
    format: "postrider.session",
    version: 1,
    session: sessionToJson(session),
    messages: all.map(messageToJson),
    shows: runs(shown.flatMap((message) => places.get(nameOf(message)) ?? [])),
    hidden: shape.hidden,
    blobs: await blobsOf(store, asker, all),
  };
}

function nameOf(message: Message): string {
  return `${message.session}/${message.seq}`;
}

function runs(places: readonly number[]): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (const place of places) {
    const last = ranges.at(-1);
    if (last !== undefined && last.to + 1 === place)
      ranges[ranges.length - 1] = { from: last.from, to: place };
    else ranges.push({ from: place, to: place });
  }
  return ranges;
}

async function blobsOf(
  store: Store,
  asker: Asker,
  messages: readonly Message[],
): Promise<Record<string, string>> {
  const blobs: Record<string, string> = {};
  for (const part of messages.flatMap((message) => message.parts)) {
    if (!("blob" in part) || part.blob === undefined || part.blob in blobs) continue;
    const bytes = await store.blob({ asker, hash: part.blob });
    if (bytes !== undefined) blobs[part.blob] = Buffer.from(bytes).toString("base64");
  }
  return blobs;
}

export async function importSession(
  store: Store,
  json: unknown,
  options: { readonly profile: string; readonly now: number; readonly owner?: string },
): Promise<Session> {
  const file = asObject(json, "export");
  if (file.format !== "postrider.session" || file.version !== 1) {
    throw new PostriderError(
      "invalid_input",
      'That is not a session that Postrider exported (format "postrider.session", version 1).',
      {
        details: { field: "format" },
      },
    );
  }
  const session = asObject(file.session, "session");
  const messages = asArray(file.messages, "messages").map((message, index) => {
    const checked = checkMessage(messageFromJson(message, `messages[${index}]`));
    return { ...checked, at: checked.at ?? options.now };
  });
  const origin =
    session.origin === null || session.origin === undefined ? undefined : sourceFromJson(session.origin);
  const owner = options.owner ?? text(session.owner) ?? OWNER;
  const imported = await store.importSession({
    session: { ...sessionOf(session), owner },
    usage: { ...emptyUsage(), ...usageFromJson(session) },
    createdAt: instant(session.created_at, "created_at") ?? options.now,
    messages,
    blobs: Object.entries(asObject(file.blobs ?? {}, "blobs")).map(([hash, base64]) => bytesOf(hash, base64)),
    shows: ranges(file.shows, "shows", messages.length),
    hidden: ranges(file.hidden, "hidden", messages.length),
    profile: options.profile,
    now: options.now,
    ...(origin !== undefined && { origin }),
    ...optional("audience", text(session.audience)),
    ...optional("displayName", text(session.display_name)),
    ...optional("endedAt", instant(session.ended_at, "ended_at")),
    ...optional("endReason", text(session.end_reason)),
    ...optional("archivedAt", instant(session.archived_at, "archived_at")),
    ...optional("parent", text(session.parent)),
  });
  return unrefused(imported);
}

function sessionOf(json: Json): NewSession {
  const kind = SESSION_KINDS.find((known) => known === json.kind) ?? ("chat" satisfies SessionKind);
  const title = text(json.title);
  const clean = title === undefined ? undefined : cleanTitle(title);
  return {
    id: assertSessionId(text(json.id) ?? ""),
    kind,
    ...optional("title", clean),
    ...optional("cwd", text(json.cwd)),
    ...(json.config !== null &&
      json.config !== undefined && { config: asObject(json.config, "session.config") }),
  };
}

/** The bytes under the hash they claim, or an error: an altered export must not pass as the original. */
function bytesOf(hash: string, base64: unknown) {
  const data = Buffer.from(text(base64) ?? "", "base64");
  const [blob] = readyMessages({
    role: "note",
    parts: [{ type: "file", mimeType: "application/octet-stream", data }],
  }).blobs;
  if (blob === undefined || blob.hash !== hash) {
    throw new PostriderError(
      "invalid_input",
      `The bytes under ${hash.slice(0, 12)}… do not have that hash.`,
      {
        details: { field: `blobs.${hash}` },
      },
    );
  }
  return blob;
}

function ranges(json: unknown, field: string, length: number): SeqRange[] {
  return asArray(json, field).map((range, index) => {
    const { from, to } = asObject(range, `${field}[${index}]`);
    if (
      Number.isSafeInteger(from) &&
      Number.isSafeInteger(to) &&
      1 <= Number(from) &&
      Number(from) <= Number(to) &&
      Number(to) <= length
    ) {
      return { from: Number(from), to: Number(to) };
    }
    throw new PostriderError(
      "invalid_input",
      `${field}[${index}] is not a range of the ${length} messages.`,
      {
        details: { field: `${field}[${index}]` },
      },
    );
  });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function instant(value: unknown, field: string): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw new PostriderError("invalid_input", `${field} must be milliseconds since 1970.`, {
    details: { field },
  });
}

function optional<Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Value };
}
