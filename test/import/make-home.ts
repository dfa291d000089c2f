import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { type Random, seeded } from "../support/random.ts";
import { columnNames, schemaAt } from "./state-schema.ts";

/** A home as another system leaves it, generated from a seed, with the expected result of its import. */
export interface TrueHome {
  readonly path: string;
  readonly sessions: ReadonlyMap<string, TrueSession>;
  /** Chats with an existing session: their next message must continue it. */
  readonly chats: readonly TrueChat[];
  readonly absent: number;
  readonly missing: number;
  readonly corrupt: readonly { readonly file: string; readonly line: number }[];
  readonly messages: number;
}

export interface TrueSession {
  readonly id: string;
  readonly where: "database" | "transcript" | "both";
  readonly parent?: string;
  readonly title?: string;
  /** `owner`, or the account that owns it. */
  readonly belongsTo: string;
  /** Each message in the format of our JSON. */
  readonly said: readonly Readonly<Record<string, unknown>>[];
  readonly row?: Readonly<Record<string, unknown>>;
}

export interface TrueChat {
  readonly origin: Readonly<Record<string, unknown>>;
  readonly session: string;
  readonly updatedAt: number;
}

export interface HomeOptions {
  readonly seed: number;
  readonly sessions: number;
  readonly schema?: number;
  /** The approximate number of messages of a session. */
  readonly length?: number;
}

const T0 = Date.UTC(2026, 2, 1, 8);
const MINUTE = 60_000;
const TITLES = [
  "plan",
  "Müllabfuhr",
  "夜景の写真",
  "🚲 tour",
  "mañana",
  "план",
  "naïve café",
  "100% done",
  "a_b",
];
/** One red dot. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

type Fields = Record<string, unknown>;

/** All clock times in the home are UTC. */
export function makeHome(path: string, options: HomeOptions): TrueHome {
  const { seed, sessions: wanted, schema = 6, length = 8 } = options;
  const random = seeded(seed);
  mkdirSync(join(path, "sessions"), { recursive: true });
  const db = new Database(join(path, "state.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = OFF");
  db.exec(schemaAt(schema));
  const home = new Builder(path, db, random, schema, length);
  db.transaction(() => {
    while (home.sessions.size < wanted) home.addChat(wanted);
  })();
  home.finish();
  db.close();
  return home;
}

class Builder implements TrueHome {
  readonly path: string;
  readonly sessions = new Map<string, TrueSession>();
  readonly chats: TrueChat[] = [];
  readonly corrupt: { file: string; line: number }[] = [];
  absent = 0;
  missing = 0;
  messages = 0;
  private readonly index: Fields = {};
  private readonly titles = new Set<string>();
  private readonly db: Database.Database;
  private readonly random: Random;
  private readonly schema: number;
  private readonly length: number;
  private people = 0;

  constructor(path: string, db: Database.Database, random: Random, schema: number, length: number) {
    this.path = path;
    this.db = db;
    this.random = random;
    this.schema = schema;
    this.length = length;
  }

  /** One chat with one or more sessions, the last of which is current. */
  addChat(wanted: number): void {
    const { random } = this;
    this.people += 1;
    const place = placeOf(random, this.people);
    const count = Math.min(random.between(1, 4), wanted - this.sessions.size);
    let at = T0 + random.between(0, 40 * 24 * 60) * MINUTE;
    let parent: { readonly id: string; readonly title?: string } | undefined;
    let last: string | undefined;
    for (let n = 0; n < count; n += 1) {
      const { id, end, title, split } = this.addSession(place, at, parent, n < count - 1);
      parent = split ? { id, ...(title !== undefined && { title }) } : undefined;
      last = id;
      at = end + random.between(1, 600) * MINUTE;
    }
    if (place.origin === undefined || last === undefined) return;
    const updatedAt = at + random.between(0, 999);
    const session = random.next() < 0.03 ? `20260101_000000_gone${this.people}` : last;
    this.index[place.key] = entryOf(place, session, updatedAt);
    const truth = this.sessions.get(session);
    if (truth === undefined) this.absent += 1;
    else this.chats.push({ origin: place.origin, session, updatedAt });
    if (truth === undefined || truth.where !== "database") return;
    this.missing += 1;
  }

  private addSession(
    place: Place,
    start: number,
    parent: { id: string; title?: string } | undefined,
    more: boolean,
  ) {
    const { random } = this;
    const id = idOf(place, start, random);
    const where =
      place.origin === undefined ? "database" : random.pick(["database", "transcript", "both", "both"]);
    // Sessions that were split by compression need rows for their link.
    const linked = parent !== undefined || (more && random.next() < 0.3);
    const inDatabase = where !== "transcript" || linked;
    const inTranscript = where !== "database";
    const split = more && linked;
    const title = inDatabase && this.schema >= 3 ? this.titleFor(place, parent) : undefined;
    const messages = conversation(random, start, this.length, id);
    const end = (messages.at(-1)?.at ?? start) + MINUTE;
    const [rows, lines] = dealt(random, messages, inDatabase, inTranscript);
    let row: Fields | undefined;
    if (inDatabase) {
      row = rowOf(random, { id, place, start, parent: parent?.id, title });
      if (more || random.next() < 0.2) {
        row.ended_at = end / 1000;
        row.end_reason = split ? "compression" : more ? "session_reset" : "session_switch";
      }
      this.insert("sessions", row);
      for (const message of rows) this.insert("messages", { session_id: id, ...columnsOf(message) });
    }
    if (inTranscript) this.writeTranscript(id, lines);
    const said = messages
      .map((message) => truthOf(message, rows, lines, this.schema))
      .filter((truth) => truth !== undefined);
    this.messages += said.length;
    this.sessions.set(id, {
      id,
      where: inDatabase ? (inTranscript ? "both" : "database") : "transcript",
      belongsTo: place.belongsTo,
      said,
      ...(row !== undefined && { row }),
      ...(parent !== undefined && { parent: parent.id }),
      ...(title !== undefined && { title }),
    });
    return { id, end, split, ...(title !== undefined && { title }) };
  }

  /** The next title of its lineage for a continuation; from schema 4 on titles are unique. */
  private titleFor(place: Place, parent: { title?: string } | undefined): string | undefined {
    const { random } = this;
    if (parent !== undefined && parent.title === undefined) return undefined;
    if (parent === undefined && random.next() < 0.5) return undefined;
    const base = parent?.title?.replace(/ #\d+$/, "") ?? random.pick(TITLES);
    // Below schema 4, people on different platforms may have used the same title.
    const name = (title: string): string => (this.schema < 4 ? `${place.belongsTo} ${title}` : title);
    let title = base;
    for (let n = 2; this.titles.has(name(title)); n += 1) title = `${base} #${n}`;
    this.titles.add(name(title));
    return title;
  }

  private insert(table: "sessions" | "messages", values: Fields): void {
    const known = columnNames(this.schema, table);
    const names = Object.keys(values).filter((name) => known.has(name));
    this.db
      .prepare(
        `insert into ${table} (${names.join(", ")}) values (${names.map((name) => `@${name}`).join(", ")})`,
      )
      .run(Object.fromEntries(names.map((name) => [name, values[name] ?? null])));
  }

  private writeTranscript(id: string, messages: readonly Spoken[]): void {
    const { random } = this;
    const file = join("sessions", `${id}.jsonl`);
    const lines: Buffer[] = [];
    const spoil = (): void => {
      if (random.next() >= 0.02) return;
      lines.push(random.pick(BROKEN));
      this.corrupt.push({ file, line: lines.length });
    };
    for (const message of messages) {
      spoil();
      lines.push(Buffer.from(JSON.stringify(lineOf(message))));
      if (random.next() < 0.02) lines.push(Buffer.from(""));
    }
    spoil();
    writeFileSync(join(this.path, file), Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])));
  }

  finish(): void {
    this.index["agent:main:telegram:group:-1:nobody"] = {
      session_id: "20260102_000000_nowhere",
      origin: null,
    };
    this.absent += 1;
    writeFileSync(join(this.path, "sessions", "sessions.json"), JSON.stringify(this.index, null, 2));
  }
}

const BROKEN = [
  Buffer.from('{"role": "user", "content": "cut of'),
  Buffer.from("[1, 2, 3]"),
  Buffer.from('{"content": nobody said this}'),
  Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
];

interface Place {
  readonly source: string;
  readonly key: string;
  readonly origin?: Fields;
  readonly user?: string;
  readonly belongsTo: string;
}

function placeOf(random: Random, n: number): Place {
  const kind = random.pick(["dm", "dm", "group", "signal", "thread", "cli", "cron", "acp"]);
  const user = `${1000 + n}`;
  const base = { chat_name: null, user_id: user, user_name: `user ${n}`, thread_id: null, chat_topic: null };
  const on = (platform: string, rest: Fields, tail: string): Place => ({
    source: platform,
    user,
    key: `agent:main:${platform}:${rest.chat_type}:${tail}`,
    origin: { ...base, platform, ...rest },
    belongsTo: `${platform} ${user}`,
  });
  switch (kind) {
    case "dm": {
      const platform = random.pick(["telegram", "discord", "whatsapp"]);
      return on(platform, { chat_type: "dm", chat_id: user }, user);
    }
    case "group":
      return on(
        "telegram",
        { chat_type: "group", chat_id: `-100${n % 7}`, chat_name: "Reiter" },
        `-100${n % 7}:${user}`,
      );
    case "signal": {
      const alt = { user_id_alt: `uuid-${n}`, chat_id: "group:abc" };
      return on("signal", { chat_type: "group", ...alt }, `group:abc:uuid-${n}`);
    }
    case "thread":
      return on(
        "slack",
        { chat_type: "group", chat_id: "C0ABC", thread_id: `17.${n}` },
        `C0ABC:17.${n}:${user}`,
      );
    default:
      return { source: kind, key: "", belongsTo: "owner" };
  }
}

function idOf(place: Place, at: number, random: Random): string {
  const stamp = new Date(at)
    .toISOString()
    .replaceAll(/[-:]|\.\d+Z/g, "")
    .replace("T", "_");
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => random.between(0, 15).toString(16)).join("");
  if (place.source === "cron") return `cron_${hex(12)}_${stamp}`;
  if (place.source === "acp") return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  return `${stamp}_${hex(place.source === "cli" ? 6 : 8)}`;
}

function entryOf(place: Place, session: string, updatedAt: number): Fields {
  return {
    session_key: place.key,
    session_id: session,
    created_at: iso(updatedAt - MINUTE),
    updated_at: iso(updatedAt),
    origin: place.origin,
    display_name: place.origin?.chat_name ?? null,
    platform: place.source,
    chat_type: place.origin?.chat_type,
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    last_prompt_tokens: 4200,
  };
}

function rowOf(
  random: Random,
  of: { id: string; place: Place; start: number; parent: string | undefined; title: string | undefined },
): Fields {
  const isAcp = of.place.source === "acp";
  return {
    id: of.id,
    source: of.place.source,
    // A session that compression created has no user.
    user_id: of.parent === undefined ? (of.place.user ?? null) : null,
    model: random.pick(["model-a", "model-b", null]),
    model_config: isAcp ? JSON.stringify({ cwd: "/work", provider: "someone" }) : null,
    system_prompt: random.next() < 0.3 ? "You are helpful. Ünïcödé." : null,
    parent_session_id: of.parent ?? null,
    started_at: of.start / 1000,
    input_tokens: random.between(1, 9999),
    output_tokens: random.between(0, 999),
    cache_read_tokens: random.between(0, 99),
    cache_write_tokens: 3,
    reasoning_tokens: 2,
    billing_provider: "someone",
    estimated_cost_usd: 0.25,
    cost_status: "estimated",
    title: of.title ?? null,
  };
}

/** A message before it is written to a file. */
interface Spoken {
  readonly at: number;
  readonly role: string;
  readonly content: unknown;
  readonly toolCalls?: readonly { id: string; name: string; arguments: unknown }[];
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly reasoning?: string;
  readonly details?: unknown;
  readonly finish?: string;
  readonly tokens?: number;
  /** Fields that only a transcript has. */
  readonly more?: Fields;
}

function conversation(random: Random, start: number, length: number, id: string): Spoken[] {
  const messages: Spoken[] = [];
  let at = start;
  const say = (message: Omit<Spoken, "at">): void => {
    at += random.between(1, 90_000);
    messages.push({ at, ...message });
  };
  if (random.next() < 0.5)
    say({ role: "session_meta", content: null, more: { tools: ["terminal"], model: "model-m" } });
  if (random.next() < 0.1) say({ role: "system", content: "Be brief." });
  const turns = random.between(0, length);
  for (let n = 0; n < turns; n += 1) {
    const listed = random.next() < 0.05;
    const words = `question ${n} in ${id} — ${random.pick(TITLES)}`;
    say({ role: "user", content: listed ? listOf(random, words) : words });
    if (random.next() < 0.3) {
      const call = { id: `call_${n}`, name: "terminal", arguments: { command: `ls ${n}`, deep: [{ n }] } };
      say({
        role: "assistant",
        content: "",
        toolCalls: [call],
        finish: "tool_calls",
        reasoning: "I should look.",
      });
      say({ role: "tool", content: `file ${n}\n"quoted"`, toolCallId: call.id, toolName: "terminal" });
    }
    say({
      role: "assistant",
      content: `answer ${n} in ${id} 🚀`,
      finish: "stop",
      tokens: random.between(1, 500),
      ...(random.next() < 0.3 && { reasoning: "Because.", details: [{ type: "summary", text: "s" }] }),
      ...(random.next() < 0.05 && { more: { mirror: true, mirror_source: "cron" } }),
    });
  }
  return messages;
}

function listOf(random: Random, words: string): unknown[] {
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } };
  const link = { type: "image_url", image_url: { url: "https://example.org/cat.png" } };
  return [{ type: "text", text: words }, random.pick([image, link]), "and this"];
}

/**
 * The messages in the database and in the transcript: all, the first ones, or all but one. Content that is a list
 * is never a row.
 */
function dealt(random: Random, messages: readonly Spoken[], inDatabase: boolean, inTranscript: boolean) {
  const storable = messages.filter(({ content }) => !Array.isArray(content));
  if (!inDatabase || !inTranscript)
    return [inDatabase ? storable : [], inTranscript ? messages : []] as const;
  const cut = random.between(0, messages.length);
  const without = (list: readonly Spoken[], at: number): Spoken[] => list.filter((_, n) => n !== at);
  switch (random.pick(["same", "short rows", "short lines", "apart", "meta"])) {
    case "short rows":
      return [storable.slice(0, cut), messages] as const;
    case "short lines":
      return [storable, messages.slice(0, cut)] as const;
    case "apart":
      return [without(storable, 1), without(messages, 3)] as const;
    case "meta":
      return [storable.filter(({ role }) => role === "session_meta"), messages] as const;
    default:
      return [storable, messages] as const;
  }
}

/** Microseconds in the format of the other system: a database row is slightly earlier than its line. */
const LATER_MS = 7;

function columnsOf(message: Spoken): Fields {
  return {
    role: message.role,
    content: message.content,
    tool_call_id: message.toolCallId,
    tool_calls: message.toolCalls && JSON.stringify(message.toolCalls.map(called)),
    tool_name: message.toolName,
    timestamp: message.at / 1000,
    token_count: message.tokens,
    finish_reason: message.finish,
    reasoning: message.reasoning,
    reasoning_details: message.details && JSON.stringify(message.details),
  };
}

function lineOf(message: Spoken): Fields {
  const { role, content, toolCallId, toolName, reasoning, details, finish, more } = message;
  return {
    role,
    content,
    ...(message.toolCalls && { tool_calls: message.toolCalls.map(called) }),
    ...(toolCallId && { tool_call_id: toolCallId }),
    ...(toolName && { tool_name: toolName }),
    ...(reasoning && { reasoning }),
    ...(details !== undefined && { reasoning_details: details }),
    ...(finish && { finish_reason: finish }),
    ...more,
    timestamp: iso(message.at + LATER_MS),
  };
}

function called({ id, name, arguments: given }: { id: string; name: string; arguments: unknown }): Fields {
  return { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
}

/** The expected imported message; undefined if neither source has it. */
function truthOf(
  message: Spoken,
  rows: readonly Spoken[],
  lines: readonly Spoken[],
  schema: number,
): Fields | undefined {
  const [row, line] = [rows.includes(message), lines.includes(message)];
  if (!row && !line) return undefined;
  const { role, content, reasoning, details, finish, more, tokens } = message;
  const isNote = !["user", "assistant", "tool"].includes(role);
  const reasoned = line || schema >= 6;
  const extra = {
    ...(line && more),
    ...(isNote && { role }),
    ...(reasoned && details !== undefined && { reasoning_details: details }),
  };
  return {
    at: row ? message.at : message.at + LATER_MS,
    role: isNote ? "note" : role,
    parts: partsOf(content),
    ...(message.toolCalls && { tool_calls: message.toolCalls }),
    ...(message.toolCallId && { tool_call_id: message.toolCallId }),
    ...(message.toolName && { tool_name: message.toolName }),
    ...(reasoned && reasoning && { reasoning }),
    ...((line || schema >= 2) && finish && { finish_reason: finish }),
    ...(row && tokens !== undefined && { token_count: tokens }),
    ...(line && more?.mirror === true && { origin: { proactive: true } }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

const PIXEL_HASH = createHash("sha256").update(Buffer.from(PIXEL, "base64")).digest("hex");

function partsOf(content: unknown): Fields[] {
  if (content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (content as unknown[]).map((part) => {
    if (typeof part === "string") return { type: "text", text: part };
    const { text, image_url: image } = part as { text?: string; image_url?: { url: string } };
    if (text !== undefined) return { type: "text", text };
    if (image?.url.startsWith("https:")) return { type: "resource", uri: image.url };
    return {
      type: "image",
      blob: PIXEL_HASH,
      mime_type: "image/png",
      size: Buffer.from(PIXEL, "base64").length,
    };
  });
}

/** Without an offset, with microseconds. */
function iso(at: number): string {
  return new Date(at).toISOString().replace("Z", "000");
}
