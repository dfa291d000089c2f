import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { bytesIn } from "../../../../test/import/imported.ts";
import { schemaAt } from "../../../../test/import/state-schema.ts";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { getText, MAX_PART_BYTES } from "../../../core/message.ts";
import { localSource, type SourceInput } from "../../../core/source.ts";
import type { Store } from "../../../ports/store.ts";
import { createSessions, type Sessions } from "../../../sessions/sessions.ts";
import { sqliteStore } from "../../../stores/sqlite/store.ts";
import { systemClock } from "../../../system/system-clock.ts";
import { importHermes } from "./import-hermes.ts";
import type { ImportReport } from "./report.ts";

const EVERYONE = { everyone: true } as const;
const NOON = Date.UTC(2026, 2, 1, 12);
let path: string;
let now: number;
let store: Store;
let sessions: Sessions;

beforeEach(async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  path = join(folder.path, "old");
  mkdirSync(join(path, "sessions"), { recursive: true });
  store = await sqliteStore({ file: join(folder.path, "postrider.db"), mode: "in-process" });
  onTestFinished(() => store.close());
  now = NOON;
  sessions = createSessions({ store, zone: "UTC", clock: { ...systemClock, now: () => now } });
});

function take(more: { strict?: boolean; zone?: string } = {}): Promise<ImportReport> {
  const into = { store, sessions };
  return importHermes({
    path,
    zone: "UTC",
    strict: false,
    dryRun: false,
    target: into,
    now,
    clock: () => now,
    ...more,
  });
}

type Fields = Readonly<Record<string, unknown>>;

function transcript(id: string, ...messages: readonly (string | Fields)[]): void {
  const lines = messages.map((message, n) =>
    typeof message === "string"
      ? { role: n % 2 === 0 ? "user" : "assistant", content: message, timestamp: `2026-03-01T10:0${n}:00` }
      : message,
  );
  writeFileSync(
    join(path, "sessions", `${id}.jsonl`),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
}

/** By key: the session, its last use, and its chat. */
function index(
  entries: Readonly<Record<string, readonly [session: string, updated: string, origin: Fields]>>,
): void {
  const json = Object.entries(entries).map(([key, [session_id, time, origin]]) => [
    key,
    {
      session_key: key,
      session_id,
      created_at: "2026-03-01T09:00:00",
      updated_at: `2026-03-01T${time}:00`,
      origin,
    },
  ]);
  writeFileSync(join(path, "sessions", "sessions.json"), JSON.stringify(Object.fromEntries(json)));
}

function database(
  use: (insert: (table: string, values: Fields) => void, db: Database.Database) => void,
  schema = 6,
): void {
  const db = new Database(join(path, "state.db"));
  db.pragma("foreign_keys = OFF");
  db.exec(schemaAt(schema));
  use((table, values) => {
    const names = Object.keys(values);
    const sql = `insert into ${table} (${names.join(", ")}) values (${names.map((name) => `@${name}`).join(", ")})`;
    db.prepare(sql).run(values);
  }, db);
  db.close();
}

function row(id: string, more: Fields = {}): Fields {
  return { id, source: "telegram", started_at: NOON / 1000 - 9000, ...more };
}

function said(session_id: string, content: string, more: Fields = {}): Fields {
  return { session_id, role: "user", content, timestamp: NOON / 1000 - 8000, ...more };
}

const ANN = { platform: "telegram", chat_type: "dm", chat_id: "1", user_id: "1", user_name: "ann" };
const ann: SourceInput = { platform: "telegram", chatId: "1", userId: "1" };
const inGroup = (user: string, more: Fields = {}): Fields => ({
  platform: "telegram",
  chat_type: "group",
  chat_id: "-100",
  user_id: user,
  ...more,
});
const group = (user: string): SourceInput => ({
  platform: "telegram",
  chatType: "group",
  chatId: "-100",
  userId: user,
});

async function sessionOf(source: SourceInput): Promise<string> {
  return (await sessions.open(source)).session.id;
}

async function textsOf(id: string): Promise<string[]> {
  return ((await sessions.history(EVERYONE, id)) ?? []).map(getText);
}

function whys({ problems }: ImportReport, kind: string): string[] {
  return problems.filter((problem) => problem.kind === kind).map(({ why }) => why);
}

describe("a session that has grown in the source", () => {
  beforeEach(async () => {
    transcript("s1", "a", "b");
    index({ "agent:main:telegram:dm:1": ["s1", "10:30", ANN] });
    await take();
  });

  const grow = (content: string): void => {
    const line = { role: "user", content, timestamp: "2026-03-01T10:20:00" };
    appendFileSync(join(path, "sessions", "s1.jsonl"), `${JSON.stringify(line)}\n`);
  };

  it("gets the new messages, and the chat's time follows only the index", async () => {
    grow("c");
    const { sessions: counts } = await take();
    expect(counts).toMatchObject({ imported: 0, grown: 1, unchanged: 0 });
    expect(await textsOf("s1")).toEqual(["a", "b", "c"]);
    expect((await sessions.conversations(EVERYONE, ann))[0]?.activeAt).toBe(Date.UTC(2026, 2, 1, 10, 30));
    index({ "agent:main:telegram:dm:1": ["s1", "11:00", ANN] });
    expect((await take()).sessions).toMatchObject({ grown: 0, unchanged: 1 });
    expect((await sessions.conversations(EVERYONE, ann))[0]?.activeAt).toBe(Date.UTC(2026, 2, 1, 11));
  });

  it("keeps messages that were added here, and is then not changed when it grows in the source", async () => {
    await sessions.append(EVERYONE, "s1", { role: "user", text: "said here" });
    expect((await take()).sessions).toMatchObject({ unchanged: 1, changed: 0 });
    grow("c");
    const report = await take();
    expect(report).toMatchObject({ complete: true, sessions: { changed: 1 } });
    expect(whys(report, "changed")).toEqual([expect.stringContaining("message 3 differs")]);
    expect(await textsOf("s1")).toEqual(["a", "b", "said here"]);
  });

  it("is not changed when it was rewritten in the source", async () => {
    transcript("s1", "a", "something else", "c");
    expect((await take()).sessions).toMatchObject({ changed: 1, grown: 0 });
    expect(await textsOf("s1")).toEqual(["a", "b"]);
  });
});

describe("a chat", () => {
  it("that continued here is not moved, and this is reported", async () => {
    const here = await sessionOf(ann);
    transcript("s1", "a");
    index({ "agent:main:telegram:dm:1": ["s1", "10:30", ANN] });
    const report = await take();
    expect(report.conversations).toEqual({ found: 1, placed: 0, left: 1 });
    expect(whys(report, "chat")).toEqual([expect.stringContaining("active here at the same time or later")]);
    expect(await sessionOf(ann)).toBe(here);
    expect(await sessions.get(EVERYONE, "s1")).toMatchObject({ messageCount: 1 });
  });

  it("of the terminal continues for the owner", async () => {
    transcript("s1", "a");
    index({
      "agent:main:local:dm:cli": ["s1", "10:30", { platform: "local", chat_type: "dm", chat_id: "cli" }],
    });
    await take();
    expect(await sessionOf(localSource())).toBe("s1");
    expect(await sessions.get({ person: "owner" }, "s1")).toBeDefined();
  });

  it("of a shared group stays shared; one with a person in its key belongs to that person", async () => {
    transcript("s1", "a");
    transcript("s2", "b");
    transcript("s3", "c");
    const elsewhere = { chat_id: "-200" };
    index({
      "agent:main:telegram:group:-100": ["s1", "10:30", inGroup("1")],
      "agent:main:telegram:group:-200:1": ["s2", "10:30", inGroup("1", elsewhere)],
      "agent:main:telegram:group:-300:7": ["s3", "10:30", inGroup("1", { chat_id: "-300", thread_id: "7" })],
    });
    await take();
    expect([await sessionOf(group("1")), await sessionOf(group("2"))]).toEqual(["s1", "s1"]);
    expect(await sessionOf({ ...group("1"), chatId: "-200" })).toBe("s2");
    expect(await sessionOf({ ...group("2"), chatId: "-200" })).not.toBe("s2");
    expect(await sessionOf({ ...group("2"), chatId: "-300", threadId: "7" })).toBe("s3");
    expect((await sessions.get(EVERYONE, "s1"))?.owner).toBe("chat:telegram:-100");
  });

  it("follows the newest of several index entries", async () => {
    for (const id of ["s1", "s2", "s3", "s4"]) transcript(id, id);
    index({
      "agent:main:telegram:dm": ["s1", "09:00", ANN],
      "agent:main:telegram:dm:1": ["s2", "10:30", ANN],
      "agent:main:telegram:group:-100": ["s3", "09:00", inGroup("1")],
      "agent:main:telegram:group:-100:2": ["s4", "10:30", inGroup("2")],
    });
    const report = await take();
    expect(report.conversations).toEqual({ found: 4, placed: 2, left: 2 });
    expect(whys(report, "chat")).toEqual([
      expect.stringContaining("a newer entry"),
      expect.stringContaining("a newer entry"),
    ]);
    expect([await sessionOf(ann), await sessionOf(group("2"))]).toEqual(["s2", "s4"]);
    expect((await sessions.get(EVERYONE, "s1"))?.owner).toBe((await sessions.get(EVERYONE, "s2"))?.owner);
    expect((await sessions.get(EVERYONE, "s3"))?.owner).toBe("chat:telegram:-100");
  });

  it("of another person does not continue with a session of both", async () => {
    transcript("s1", "private");
    const bob = { ...ANN, chat_id: "2", user_id: "2" };
    index({
      "agent:main:telegram:dm:1": ["s1", "10:30", ANN],
      "agent:main:telegram:dm:2": ["s1", "10:00", bob],
    });
    const report = await take();
    expect(report.conversations).toMatchObject({ placed: 1, left: 1 });
    expect(whys(report, "chat")).toEqual([expect.stringContaining("has another owner")]);
    expect(await sessionOf(ann)).toBe("s1");
    expect(await sessionOf({ ...ann, chatId: "2", userId: "2" })).not.toBe("s1");
  });

  it("is read in the given time zone", async () => {
    transcript("s1", "a");
    index({ "agent:main:telegram:dm:1": ["s1", "10:30", ANN] });
    await take({ zone: "America/New_York" });
    expect((await sessions.conversations(EVERYONE, ann))[0]?.activeAt).toBe(Date.UTC(2026, 2, 1, 15, 30));
    expect((await sessions.messages(EVERYONE, "s1"))?.[0]?.at).toBe(Date.UTC(2026, 2, 1, 15));
  });
});

describe("a session without a chat", () => {
  it("belongs to the account of its row or of the session that it continues, otherwise to the owner", async () => {
    database((insert) => {
      insert("sessions", row("s1", { user_id: "1", ended_at: NOON / 1000, end_reason: "compression" }));
      insert("sessions", row("s2", { parent_session_id: "s1" }));
      insert("sessions", row("s3"));
      insert("sessions", row("s4", { source: "cli" }));
      insert("sessions", row("s5", { source: "pigeon", user_id: "1" }));
      insert("messages", said("orphan", "whose row is gone"));
    });
    transcript("s6", { role: "session_meta", platform: "discord" }, "nobody's");
    await take();
    expect((await sessions.list(EVERYONE, { platform: "discord" })).items.map(({ id }) => id)).toEqual([
      "s6",
    ]);
    const { owner } = (await sessions.open(ann)).session;
    const owners = await Promise.all(
      ["s1", "s2", "s3", "s4", "s5", "orphan", "s6"].map(
        async (id) => (await sessions.get(EVERYONE, id))?.owner,
      ),
    );
    expect(owners).toEqual([owner, owner, "owner", "owner", "owner", "owner", "owner"]);
    expect(await sessions.get(EVERYONE, "s1")).toMatchObject({ endedAt: NOON, endReason: "closed" });
    expect((await sessions.get(EVERYONE, "s2"))?.parent).toBe("s1");
  });

  it("keeps its kind, folder, prompt, model, costs and unknown fields", async () => {
    database((insert) => {
      const model_config = JSON.stringify({ cwd: "/work", provider: "p", base_url: "https://example.org" });
      const billing = {
        billing_mode: "credits",
        estimated_cost_usd: 0.5,
        actual_cost_usd: 0.4,
        cost_status: "final",
      };
      const tokens = {
        input_tokens: 1,
        output_tokens: 2,
        cache_read_tokens: 3,
        cache_write_tokens: 4,
        reasoning_tokens: 5,
      };
      insert(
        "sessions",
        row("e1", { source: "acp", model: "m", model_config, system_prompt: "Be.", ...billing, ...tokens }),
      );
      insert("sessions", row("cron_1_20260301_100000", { source: "cron" }));
      insert("sessions", row("bg_100000_abcdef"));
    });
    await take();
    expect(await sessions.get(EVERYONE, "e1")).toMatchObject({
      kind: "editor",
      cwd: "/work",
      usage: {
        totalTokens: 10,
        reasoningTokens: 5,
        costUsd: 0.4,
        costStatus: "final",
        model: "m",
        provider: "p",
        baseUrl: "https://example.org",
      },
      config: {
        system_prompt: "Be.",
        model_config: { cwd: "/work" },
        hermes: { id: "e1", source: "acp", billing_mode: "credits", estimated_cost_usd: 0.5 },
      },
    });
    expect((await sessions.get(EVERYONE, "cron_1_20260301_100000"))?.kind).toBe("job");
    expect((await sessions.get(EVERYONE, "bg_100000_abcdef"))?.kind).toBe("background");
  });

  it("takes its counters from the index if the database has none", async () => {
    transcript("s1", { role: "session_meta", model: "m", tools: [] }, "a");
    const entry = {
      session_id: "s1",
      input_tokens: 7,
      output_tokens: 3,
      last_prompt_tokens: 42_000,
      origin: ANN,
    };
    writeFileSync(
      join(path, "sessions", "sessions.json"),
      JSON.stringify({ "agent:main:telegram:dm:1": entry }),
    );
    await take();
    // The entry does not contain the last use of the chat.
    expect((await sessions.conversations(EVERYONE, ann))[0]?.activeAt).toBe(Date.UTC(2026, 2, 1, 10, 1));
    expect((await sessions.list(EVERYONE, { platform: "telegram" })).items.map(({ id }) => id)).toEqual([
      "s1",
    ]);
    const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10, lastPromptTokens: 42_000, model: "m" };
    expect((await sessions.get(EVERYONE, "s1"))?.usage).toMatchObject(usage);
  });
});

describe("a session that was deleted here", () => {
  it("is imported again, unless a fork still shows a part of it, which is reported", async () => {
    transcript("s1", "a", "b");
    await take();
    await sessions.remove(EVERYONE, "s1");
    expect((await take()).sessions).toMatchObject({ imported: 1 });
    await sessions.fork(EVERYONE, "s1");
    await sessions.remove(EVERYONE, "s1");
    const report = await take();
    expect(report).toMatchObject({ complete: true, sessions: { imported: 0, changed: 1 } });
    expect(whys(report, "changed")).toEqual([expect.stringContaining("deleted here")]);
  });
});

describe("a title", () => {
  it("gets the next number if the person has it already; a long title is cut", async () => {
    await sessions.create({ person: "owner" }, { title: "plan" });
    const long = "x".repeat(120);
    database((insert) => {
      insert("sessions", row("s1", { source: "cli", title: "plan" }));
      insert("sessions", row("s2", { source: "cli", title: "plan\u200b", started_at: NOON / 1000 }));
      insert("sessions", row("s3", { user_id: "1", title: "plan " }));
      insert("sessions", row("s4", { source: "cli", title: long }));
      insert("sessions", row("s5", { source: "cli", title: `${"\u200b".repeat(50)}${"y".repeat(100)}\n` }));
    });
    const report = await take();
    const titles = await Promise.all(
      ["s1", "s2", "s3", "s4", "s5"].map(async (id) => (await sessions.get(EVERYONE, id))?.title),
    );
    expect(titles).toEqual(["plan #2", "plan #3", "plan", "x".repeat(100), "y".repeat(100)]);
    expect(report.titles).toEqual({ found: 5, kept: 0, other: 5 });
    expect(whys(report, "title")).toHaveLength(5);
    expect((await sessions.get(EVERYONE, "s4"))?.config).toMatchObject({ hermes: { title: long } });
  });
});

describe("an id", () => {
  it("that is unsafe in a path is replaced by a stable one, in links too", async () => {
    const odd = "../../etc/passwd";
    database((insert) => {
      insert("sessions", row(odd, { source: "cli" }));
      insert("sessions", row("child", { source: "cli", parent_session_id: odd }));
      insert("messages", said(odd, "hello"));
    });
    transcript("with space", "a");
    const report = await take();
    expect(report.sessions.imported).toBe(3);
    const item = report.items.find(({ original_id }) => original_id === odd);
    expect(item?.id).toMatch(/^hermes-etc-passwd-[0-9a-f]{12}$/);
    expect(await sessions.get(EVERYONE, item?.id ?? "")).toMatchObject({ config: { hermes: { id: odd } } });
    expect((await sessions.get(EVERYONE, "child"))?.parent).toBe(item?.id);
    expect(whys(report, "id")).toHaveLength(2);
    expect((await take()).sessions).toMatchObject({ imported: 0, unchanged: 3 });
  });
});

describe("an unreadable part", () => {
  it("that is too large is reported, and the rest is imported", async () => {
    transcript("s1", "a", { role: "user", content: "x".repeat(MAX_PART_BYTES + 1) }, "c");
    const report = await take();
    expect(report).toMatchObject({ too_large: 1, corrupt: 0, complete: true, messages: { total: 2 } });
    expect(report.problems[0]).toMatchObject({ kind: "too_large", file: "sessions/s1.jsonl", line: 2 });
    expect(await textsOf("s1")).toEqual(["a", "c"]);
    transcript("s2", { role: "user", content: "x".repeat(MAX_PART_BYTES + 1) });
    await expect(take({ strict: true })).rejects.toMatchObject({ code: "too_large" });
  });

  it("without a role is kept as a note", async () => {
    transcript("s1", "a", { content: "who said this?" }, { role: "", content: "or this" }, "d");
    expect(await take()).toMatchObject({ corrupt: 0, complete: true, messages: { total: 4 } });
    expect(await textsOf("s1")).toEqual(["a", "who said this?", "or this", "d"]);
    const roles = (await sessions.messages(EVERYONE, "s1"))?.map(({ role }) => role);
    expect(roles).toEqual(["user", "note", "note", "assistant"]);
    expect((await take()).sessions).toMatchObject({ imported: 0, unchanged: 1 });
  });

  it("that is invalid JSON in a row is reported, and its text is kept", async () => {
    database((insert) => {
      insert("sessions", row("s1"));
      insert("messages", said("s1", "x", { role: "assistant", tool_calls: "[{broken" }));
    });
    const report = await take();
    expect(report).toMatchObject({ corrupt: 1, problems: [{ file: "state.db", line: 1, session: "s1" }] });
    expect((await sessions.messages(EVERYONE, "s1"))?.[0]?.extra).toEqual({ tool_calls_text: "[{broken" });
    await expect(take({ strict: true })).rejects.toThrow("state.db, row 1: tool_calls is not JSON");
  });

  it("that a newer version added is kept unchanged", async () => {
    database((insert) => {
      insert("sessions", row("s1"));
      insert("messages", said("s1", "x", { mood: "glad" }));
    }, 7);
    const report = await take();
    expect(whys(report, "newer")).toEqual([expect.stringContaining("schema 7 is newer than 6")]);
    expect((await sessions.messages(EVERYONE, "s1"))?.[0]?.extra).toEqual({ mood: "glad" });
  });

  it("that a newer version undid is kept and not shown", async () => {
    database((insert, db) => {
      db.exec("alter table messages add column active integer not null default 1");
      insert("sessions", row("s1"));
      for (const [n, content] of ["a", "b", "c", "d"].entries())
        insert("messages", said("s1", content, { timestamp: n, active: n === 1 || n === 2 ? 0 : 1 }));
    }, 7);
    await take();
    expect(await textsOf("s1")).toEqual(["a", "d"]);
    expect((await sessions.messages(EVERYONE, "s1"))?.map(({ extra }) => extra)).toEqual([
      undefined,
      { active: 0 },
      { active: 0 },
      undefined,
    ]);
    expect((await take()).sessions).toMatchObject({ unchanged: 1 });
  });

  it("does not include the write-ahead log of a database in use, which is read without a change", async () => {
    database((insert) => insert("sessions", row("s1")));
    const live = new Database(join(path, "state.db"));
    onTestFinished(() => void live.close());
    live.pragma("journal_mode = WAL");
    live.exec(
      `insert into messages (session_id, role, content, timestamp) values ('s1', 'user', 'just now', 1)`,
    );
    const before = bytesIn(path);
    expect(readdirSync(path)).toContain("state.db-wal");
    await take();
    expect(bytesIn(path)).toEqual(before);
    expect(await textsOf("s1")).toEqual(["just now"]);
  });
});

describe("reading back", () => {
  it("finds a session that was stored differently, and reports it", async () => {
    transcript("s1", "a", "b");
    const forgetful: Store = {
      ...store,
      sessions: {
        ...store.sessions,
        importSession: (input) =>
          store.sessions.importSession({
            ...input,
            messages: input.messages.slice(1),
            shows: [{ from: 1, to: 1 }],
          }),
      },
    };
    const into = { store: forgetful, sessions };
    const report = await importHermes({
      path,
      zone: "UTC",
      strict: false,
      dryRun: false,
      target: into,
      now,
      clock: () => now,
    });
    expect(report).toMatchObject({ complete: false, sessions: { imported: 0, failed: 1 } });
    expect(whys(report, "failed")).toEqual(["1 message was stored instead of 2"]);
  });
});
