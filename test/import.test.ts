import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { ImportSummary } from "../src/apps/import/hermes/report.ts";
import {
  createSessions,
  localRunner,
  messageToJson,
  type SourceInput,
  type Store,
  sourceFromJson,
  sqliteStore,
  systemClock,
} from "../src/index.ts";
import { bytesIn, hashOf, stateOf } from "./import/imported.ts";
import { makeHome, type TrueHome } from "./import/make-home.ts";
import { runCommand } from "./support/command.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { documentedShapes, problems } from "./support/json-shapes.ts";
import { seeded } from "./support/random.ts";
import { schedule } from "./support/schedule.ts";

const KILLS = schedule(4, 20);
const SESSIONS = schedule(200, 1000);

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const EVERYONE = { everyone: true } as const;
let folder: string;
let home: string;
let database: string;
let old: string;

beforeEach(() => {
  const made = temporaryFolder();
  onTestFinished(() => made.remove());
  folder = made.path;
  home = join(folder, "home");
  database = join(home, "postrider.db");
  old = join(folder, "old");
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(into: string, args: readonly string[]) {
  const child = spawn(process.execPath, [BIN, "import", "hermes", ...args], {
    env: { ...process.env, POSTRIDER_HOME: into },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => {
    out += data;
  });
  child.stderr.on("data", (data) => {
    err += data;
  });
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  return { child, ended };
}

function run(...args: string[]): Promise<Ended> {
  return runCommand(home, ["import", "hermes", ...args, "--zone", "UTC"]);
}

async function runJson(...args: string[]): Promise<ImportSummary> {
  const { code, out, err } = await run(...args, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out) as ImportSummary;
}

async function opened(): Promise<Store> {
  const store = await sqliteStore({ file: database, mode: "in-process" });
  onTestFinished(() => store.close());
  return store;
}

/** Every session as in the source: texts, times, title, lineage, counters and owner. */
async function expectAllOf(truth: TrueHome, store: Store): Promise<void> {
  const sessions = createSessions({ store, zone: "UTC" });
  const owners = new Map(
    look(database, (db) =>
      db.prepare("select platform || ' ' || user_id, person from accounts").raw().all(),
    ) as [string, string][],
  );
  for (const { id, said, title, parent, row, belongsTo } of truth.sessions.values()) {
    const session = await sessions.get(EVERYONE, id);
    const messages = (await sessions.messages(EVERYONE, id)) ?? [];
    const stored = messages.map((message) => {
      const { session: _session, seq: _seq, ...rest } = messageToJson(message);
      return rest;
    });
    if (hashOf(stored) !== hashOf(said)) expect(stored, id).toEqual(said); // shows the difference
    expect(session, id).toMatchObject({
      owner:
        row === undefined && !truth.chats.some((chat) => chat.session === id)
          ? "owner"
          : (owners.get(belongsTo) ?? belongsTo),
      ...(parent !== undefined && { parent }),
      ...(row !== undefined && { createdAt: Math.round(Number(row.started_at) * 1000) }),
    });
    expect(session?.title, id).toBe(title);
    if (row !== undefined) {
      expect(session?.usage).toMatchObject({
        inputTokens: row.input_tokens,
        outputTokens: row.output_tokens,
      });
      expect(session?.config).toMatchObject({ hermes: { id, source: row.source } });
      if (row.system_prompt !== null) expect(session?.config?.system_prompt).toBe(row.system_prompt);
    }
  }
}

/** Every chat continues: opening it a minute after its last use returns its session. */
async function expectChatsToGoOn(truth: TrueHome, store: Store): Promise<void> {
  for (const { origin, session, updatedAt } of truth.chats) {
    const clock = { ...systemClock, now: () => updatedAt };
    const from = sourceFromJson(origin);
    const opened = await createSessions({ store, zone: "UTC", clock }).open(from as SourceInput);
    expect([opened.session.id, opened.created], session).toEqual([session, false]);
    expect(opened.conversation.activeAt).toBe(updatedAt);
  }
}

describe("postrider import hermes", () => {
  it(`imports a home of ${SESSIONS.toLocaleString("en")} sessions completely, does not change it, and adds nothing the second time`, async () => {
    const truth = makeHome(old, { seed: 1, sessions: SESSIONS });
    const before = bytesIn(old);
    const first = await runJson(old);
    expect(bytesIn(old)).toEqual(before);
    expect(first).toMatchObject({
      schema_version: 6,
      complete: true,
      sessions: { found: SESSIONS, imported: SESSIONS, here: 0, failed: 0, changed: 0, absent: truth.absent },
      messages: { total: truth.messages },
      corrupt: truth.corrupt.length,
      missing_transcripts: truth.missing,
      conversations: { placed: truth.chats.length, left: truth.absent },
    });
    const told = first.problems
      .filter(({ kind }) => kind === "corrupt")
      .map(({ file, line }) => ({ file, line }));
    expect(new Set(told.map(hashOf))).toEqual(new Set(truth.corrupt.map(hashOf)));
    expect(first.lineage).toBe(
      [...truth.sessions.values()].filter(({ parent }) => parent !== undefined).length,
    );

    const state = stateOf(database);
    const second = await runJson(old);
    expect(second.sessions).toMatchObject({
      found: SESSIONS,
      here: SESSIONS,
      imported: 0,
      grown: 0,
      unchanged: SESSIONS,
    });
    expect(stateOf(database)).toEqual(state);
    const store = await opened();
    await expectAllOf(truth, store);
    await expectChatsToGoOn(truth, store);
  }, 120_000);

  it.each([1, 2, 3, 4, 5, 6])("imports a database of schema %i with its transcripts", async (schema) => {
    const truth = makeHome(old, { seed: 10 + schema, sessions: 60, schema });
    const summary = await runJson(old);
    expect(summary).toMatchObject({
      schema_version: schema,
      sessions: { imported: 60 },
      messages: { total: truth.messages },
    });
    const store = await opened();
    await expectAllOf(truth, store);
    await expectChatsToGoOn(truth, store);
  });

  it("continues a chat in its imported session, and finds lineages by title", async () => {
    const truth = makeHome(old, { seed: 3, sessions: 80 });
    await runJson(old);
    const store = await opened();
    const sessions = createSessions({ store, zone: "UTC" });
    const chat = truth.chats[0];
    if (chat === undefined) throw new Error("the home has no chat");
    const runner = localRunner();
    const accepted = await store.inbox.accept({
      source: sourceFromJson(chat.origin),
      profile: "main",
      scope: { groupsPerUser: true, threadsPerUser: true },
      reset: { idleBefore: chat.updatedAt - 1 },
      newSession: { id: "fresh", kind: "chat" },
      messageId: "next",
      message: { role: "user", parts: [{ type: "text", text: "where were we?" }] },
      claim: { runner: runner.id, take: "one" },
      now: chat.updatedAt + 1,
    });
    if (!("session" in accepted)) throw new Error("a new message was not taken");
    expect(accepted.session.id).toBe(chat.session);
    const history = await sessions.history(EVERYONE, chat.session);
    expect(history).toHaveLength((truth.sessions.get(chat.session)?.said.length ?? 0) + 1);

    const children = [...truth.sessions.values()].filter(({ parent, title }) => parent && title);
    expect(children.length).toBeGreaterThan(0);
    for (const { id, title = "", parent = "" } of children) {
      const stored = await sessions.get(EVERYONE, id);
      const who = { person: stored?.owner ?? "" };
      expect((await sessions.findByTitle(who, title))?.id).toBe(id);
      expect(await sessions.get(who, parent)).toMatchObject({ endReason: "closed", owner: who.person });
    }
  });

  it(`has the same result after it was killed at ${KILLS} points`, async () => {
    makeHome(old, { seed: 4, sessions: 150 });
    expect((await start(home, [old, "--zone", "UTC"]).ended).code).toBe(0);
    const whole = stateOf(database);
    const random = seeded(20);
    // The first kill comes before the database exists, the second right after its creation.
    const points = [-2, -1, ...Array.from({ length: KILLS - 2 }, () => random.between(0, 140))].sort(
      (a, b) => a - b,
    );
    // Two homes, so that there are long and short stretches between kills.
    for (const half of [0, 1]) {
      const into = join(folder, `killed-${half}`);
      const file = join(into, "postrider.db");
      for (const point of points.filter((_, n) => n % 2 === half)) {
        const { child, ended } = start(into, [old, "--zone", "UTC"]);
        // Another process does not report its progress, so this polls.
        while (child.exitCode === null && sessionsIn(file) <= point)
          await new Promise((r) => setTimeout(r, 4));
        child.kill("SIGKILL");
        expect((await ended).code).toBe(null);
      }
      expect((await start(into, [old, "--zone", "UTC"]).ended).code).toBe(0);
      expect(stateOf(file)).toEqual(whole);
    }
  }, 60_000);
});

function sessionsIn(file: string): number {
  if (!existsSync(file)) return -1;
  return look(file, (db) => Number(db.prepare("select count(*) from sessions").pluck().get()));
}

describe("an import with problems", () => {
  it("counts them with --dry-run, and writes nothing", async () => {
    const truth = makeHome(old, { seed: 5, sessions: 40 });
    const dry = await runJson(old, "--dry-run");
    expect(dry).toMatchObject({ dry_run: true, report: null, sessions: { found: 40, here: 0, imported: 0 } });
    expect(dry).toMatchObject({ messages: { total: truth.messages }, corrupt: truth.corrupt.length });
    expect(existsSync(home)).toBe(false);
    const real = await runJson(old);
    for (const field of [
      "messages",
      "tool_calls",
      "lineage",
      "blobs",
      "corrupt",
      "missing_transcripts",
    ] as const)
      expect(dry[field]).toEqual(real[field]);
    const before = bytesIn(home);
    expect((await runJson(old, "--dry-run")).sessions).toMatchObject({ found: 40, here: 40 });
    expect(bytesIn(home)).toEqual(before);
  });

  it("stops with --strict before it stores that session, and names the file and line", async () => {
    write("sessions/20260301_080000_aaaaaaaa.jsonl", [said("user", "fine")]);
    write("sessions/20260302_080000_bbbbbbbb.jsonl", [
      said("user", "fine"),
      "{broken",
      said("user", "fine too"),
    ]);
    const { code, err } = await run(old, "--strict");
    expect(code).toBe(1);
    expect(err).toContain("sessions/20260302_080000_bbbbbbbb.jsonl, line 2: not JSON");
    const ids = (): unknown[] => look(database, (db) => db.prepare("select id from sessions").pluck().all());
    expect(ids()).toEqual(["20260301_080000_aaaaaaaa"]);
    expect((await runJson(old)).sessions).toMatchObject({ imported: 1, unchanged: 1 });
    expect(ids()).toEqual(["20260301_080000_aaaaaaaa", "20260302_080000_bbbbbbbb"]);
  });

  it.each([
    ["not JSON", "{ nope"],
    ["a list", "[]"],
    ["a text", '"hello"'],
  ])("imports the transcripts if the index is %s", async (_, index) => {
    write("sessions/s1.jsonl", [said("user", "still here")]);
    write("sessions/sessions.json", [index]);
    const { code, out } = await run(old, "--json");
    expect(code).toBe(1);
    const summary = JSON.parse(out) as ImportSummary;
    expect(summary).toMatchObject({ complete: false, sessions: { imported: 1 } });
    expect(summary.problems).toMatchObject([{ kind: "file", file: "sessions/sessions.json" }]);
    expect((await run(old, "--strict")).err).toContain("sessions/sessions.json: the index cannot be read");
  });

  it("imports the sessions of invalid index entries, and reports the chats that do not continue", async () => {
    write("sessions/s1.jsonl", [said("user", "one")]);
    write("sessions/s2.jsonl", [said("user", "two")]);
    const entry = { session_id: "s1", updated_at: "2026-03-01T08:00:00" };
    const index = {
      "agent:main:telegram:dm:1": 7,
      "agent:main:telegram:dm:2": { session_id: 5 },
      "agent:main:telegram:dm:3": { ...entry, origin: { platform: "telegram" } },
      "agent:main:pigeon:dm:4": { ...entry, origin: { platform: "pigeon", chat_id: "4" } },
      "something else": { ...entry, origin: { platform: "telegram", chat_id: "5" } },
      "agent:main:telegram:dm:6": {
        ...entry,
        session_id: "s2",
        origin: { platform: "telegram", chat_id: 6 },
      },
    };
    write("sessions/sessions.json", [JSON.stringify(index)]);
    const summary = await runJson(old);
    expect(summary).toMatchObject({
      sessions: { imported: 2 },
      corrupt: 2,
      conversations: { found: 4, placed: 1, left: 3 },
    });
    expect(summary.problems.filter(({ kind }) => kind === "chat").map(({ why }) => why)).toEqual([
      expect.stringContaining("chat_id is missing"),
      expect.stringContaining("the platform pigeon is unknown"),
      expect.stringContaining("name different chats"),
    ]);
  });

  it.each([
    ["not a database", (file: string) => writeFileSync(file, "this is no database, not at all".repeat(99))],
    ["a truncated database", (file: string) => truncateSync(file, Math.floor(statSync(file).size / 2))],
  ])("imports the transcripts if the database file is %s", async (_, spoil) => {
    const truth = makeHome(old, { seed: 6, sessions: 40 });
    spoil(join(old, "state.db"));
    const before = bytesIn(old);
    const { code, out } = await run(old, "--json");
    expect(code).toBe(1);
    const summary = JSON.parse(out) as ImportSummary;
    const written = [...truth.sessions.values()].filter(({ where }) => where !== "database");
    expect(summary.sessions.imported).toBeGreaterThanOrEqual(written.length);
    expect(summary).toMatchObject({ complete: false, sessions: { failed: 0 } });
    expect(summary.problems).toContainEqual(expect.objectContaining({ kind: "file", file: "state.db" }));
    expect(bytesIn(old)).toEqual(before);
    expect((await run(join(old, "state.db"))).code).toBe(1);
    expect((await run(old, "--strict")).err).toContain("state.db");
  });

  it("reports a database of a newer version, and keeps its unknown columns", async () => {
    const truth = makeHome(old, { seed: 7, sessions: 20, schema: 7 });
    const summary = await runJson(old);
    expect(summary).toMatchObject({ schema_version: 7, sessions: { imported: 20 } });
    expect(summary.problems).toContainEqual(expect.objectContaining({ kind: "newer", file: "state.db" }));
    await expectAllOf(truth, await opened());
  });

  it("reports an error if there is nothing to import", async () => {
    const nowhere = await run(join(folder, "nowhere"));
    expect(nowhere).toMatchObject({ code: 3, out: "" });
    expect(nowhere.err).toMatch(/^postrider: [^\n]+nowhere does not exist\. [^\n]+\n$/);
    mkdirSync(old);
    expect(await run(old)).toMatchObject({
      code: 3,
      err: expect.stringContaining("has nothing to import"),
    });
    expect(await run("")).toMatchObject({ code: 2, err: expect.stringContaining("needs the PATH") });
    expect(await run()).toMatchObject({ code: 2 });
    expect(await start(home, [old, "--zone", "Mars/Base"]).ended).toMatchObject({ code: 1 });
  });

  it("accepts a read-only folder, only a database, and only a folder of sessions", async () => {
    const truth = makeHome(old, { seed: 8, sessions: 30 });
    const [rows, lines] = [[...truth.sessions.values()], [...truth.sessions.values()]].map((all, n) =>
      all.filter(({ where }) => where === "both" || where === (n === 0 ? "database" : "transcript")),
    );
    const copy = join(folder, "copy");
    cpSync(old, copy, { recursive: true });
    const readOnly = (mode: number): void => {
      for (const name of ["sessions", ""]) chmodSync(join(old, name), mode);
      chmodSync(join(old, "state.db"), mode & 0o666);
    };
    readOnly(0o555);
    onTestFinished(() => readOnly(0o755));
    expect((await runJson(join(old, "state.db"), "--dry-run")).sessions.found).toBe(rows?.length);
    expect((await runJson(join(copy, "sessions"), "--dry-run")).sessions.found).toBe(lines?.length);
    expect((await runJson(old)).sessions.imported).toBe(30);
    expect(bytesIn(old)).toEqual(bytesIn(copy));
  });
});

describe("the report", () => {
  it("is readable only by its owner, and has the source and hash of every session", async () => {
    const truth = makeHome(old, { seed: 9, sessions: 30 });
    const { report } = await runJson(old);
    if (report === null) throw new Error("there is no report");
    expect(statSync(report).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "reports")).mode & 0o777).toBe(0o700);
    const { items, ...rest } = JSON.parse(readFileSync(report, "utf8"));
    const shapes = documentedShapes();
    const [list, summary] = [shapes.get("Import report"), shapes.get("postrider import hermes")];
    expect(problems(shapes, list ?? new Map(), { items })).toEqual([]);
    expect(problems(shapes, summary ?? new Map(), { ...rest, report })).toEqual([]);
    expect(rest).toMatchObject({ format: "postrider.import", version: 1, from: "hermes", complete: true });
    expect(items).toHaveLength(30);
    for (const item of items) {
      const { where, said, title = null } = truth.sessions.get(item.id) ?? {};
      expect(item).toMatchObject({ status: "imported", read_from: where, messages: said?.length, title });
      expect(item.hash).toMatch(/^[0-9a-f]{64}$/);
    }
    const skipped = items.flatMap((item: { skipped: { kind: string }[] }) => item.skipped);
    expect(skipped.filter(({ kind }: { kind: string }) => kind === "corrupt")).toHaveLength(
      truth.corrupt.length,
    );
    expect(readdirSync(join(home, "reports"))).toHaveLength(1);
    const { out } = await run(old);
    expect(out).toMatch(/Report: \/[^\n]+\.json\n$/);
    expect(readdirSync(join(home, "reports"))).toHaveLength(2);
  });
});

function write(name: string, lines: readonly string[]): void {
  const file = join(old, name);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, `${lines.join("\n")}\n`);
}

function said(role: string, content: string): string {
  return JSON.stringify({ role, content, timestamp: "2026-03-01T08:00:00.000000" });
}
