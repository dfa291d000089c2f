import { readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Routing } from "../../core/conversation.ts";
import type { NewMessage } from "../../core/message.ts";
import type { Asker } from "../../core/owner.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import { emptyUsage } from "../../core/usage.ts";
import type { ErasureProgress } from "../../ports/access-store.ts";
import { getSql, type Statement } from "../sql/db.ts";
import { type Facets, findOperation, type OnConnection, OPERATIONS } from "../sql/operations.ts";
import { indexMessages } from "../sql/search.ts";
import { openWriter, type SqliteDb } from "./connection.ts";
import { sqliteDialect } from "./dialect.ts";

/** Every statement that is complete in itself; functions build the others for a request. */
const STATEMENTS: readonly (readonly [name: string, sql: string])[] = (
  await Promise.all(
    readdirSync(new URL("../sql/statements", import.meta.url)).map(
      (file): Promise<Record<string, unknown>> => import(`../sql/statements/${file}`),
    ),
  )
)
  .flatMap((module) => Object.entries(module))
  .flatMap(([name, statement]) =>
    /^(?!build).*Sql$/.test(name) ? [[name, getSql(statement as Statement, sqliteDialect)] as const] : [],
  );

/** Tables that grow with use. A scan of one of them gets slower and slower. */
const GROWING = [
  "accounts",
  "allowed",
  "approvals",
  "blobs",
  "blob_uses",
  "conversations",
  "decisions",
  "deliveries",
  "flushes",
  "inbox",
  "memories",
  "messages",
  "people",
  "pieces",
  "process_output",
  "processes",
  "sessions",
  "turns",
  "views",
];

/** Partial indexes of pending, running or orphaned rows: few rows at any time, so a scan is fine. */
const FEW = [
  "approvals_open",
  "deliveries_aside",
  "deliveries_due",
  "deliveries_sending",
  "flushes_open",
  "inbox_lines",
  "inbox_waiting",
  "processes_open",
  "processes_watched",
  "sessions_removed",
  "sessions_unindexed",
  "turns_running",
];

/** Statements that may scan a whole table, and the reason. */
const ALLOWED: readonly { readonly statement: RegExp; readonly why: string }[] = [
  {
    statement: /from conversations where account = \?/,
    why: "two accounts are merged: once in an account's life",
  },
  { statement: /update (conversations|approvals) set person = \? where person = \?/, why: "the same" },
  {
    statement: /^update conversations set active_at = \? where expired is null/,
    why: "once an hour",
  },
  {
    statement: /^update sessions set indexed_seq = 0 where indexed_seq > 0$/,
    why: "the whole index is filled again: for a repair, or after a large history was erased",
  },
  {
    statement: /^select \* from sessions where n in \(select s\.n from sessions s where true and/,
    why: "everyone's list, for the operator, in the thread of long reads",
  },
  {
    statement: /^select (count|s\.platform|s\.kind|s\.owner).*\s+from sessions s where true and/,
    why: "everyone's numbers, for the operator, in the thread of long reads",
  },
  {
    statement: /^select s\.\* from sessions s where s\.title is not null and s\.removed_at is null and true$/,
    why: "everyone's titles, for the operator",
  },
  {
    statement: /^select 1 from sessions s where true and s\.removed_at is null and s\.id <> \? limit 1$/,
    why: "everyone's sessions: the first or the second row is the answer",
  },
  {
    statement: /^select \* from decisions where from_session = \? or to_session = \?/,
    why: "the decisions about a session: only for people, in the thread of long reads",
  },
  { statement: /^select \* from inbox where seq = \? and turn in/, why: "the origin of a message: the same" },
  {
    statement: /in \(\s*select s\.n from sessions s where true\s+union select p\.piece_session/,
    why: "everyone's search, for the operator, in the thread of long reads: every session is allowed",
  },
  {
    statement:
      /^select \* from \(\s+select t\.\*, case when t\.session in \(select n from sessions where owner = \?\) then 1 else 0 end as owned from (turns|deliveries|processes) t\s+\) as marked where owned = 1/,
    why: "all data of a person: needed once in their life",
  },
  { statement: /^select \* from conversations where person = \? or account in/, why: "the same" },
  { statement: /^select i\.\* from inbox i where i\.conversation in/, why: "the same" },
  {
    statement: /^select n, origin from sessions where origin is not null$/,
    why: "the same, at the end of an erasure",
  },
  {
    statement: /^delete from inbox where conversation = \?$/,
    why: "the same: a person has few conversations",
  },
  {
    statement: /^select a\.\*, s\.id as session_id from approvals a .* order by a\.n$/,
    why: "the same: approval requests to the person and because of them",
  },
  {
    statement: /^select s\.\* from sessions s where true and s\.removed_at is null and s\.last_at >= \?/,
    why: "everyone's numbers, for the operator, in the thread of long reads",
  },
];

const T0 = Date.UTC(2026, 2, 15);
const ANN: Source = { platform: "telegram", chatType: "dm", chatId: "ann", userId: "ann" };
const ann: Asker = { person: "p_ann" };
const inChat: Asker = { person: "p_ann", chat: "chat:telegram:-100" };
const everyone: Asker = { everyone: true };
const hello: NewMessage = { role: "user", parts: [{ type: "text", text: "hello" }] };
const bytes = { hash: "ab".repeat(32), bytes: new Uint8Array([1]) };
const picture: NewMessage = {
  role: "user",
  parts: [{ type: "image", blob: bytes.hash, mimeType: "image/png", size: 1 }],
};

describe("query plans", () => {
  let folder: string;
  let db: SqliteDb;
  const run = new Set<string>();
  const called = new Set<string>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postrider-plans-"));
    db = openWriter({ file: join(folder, "postrider.db") });
    everyStep(recording(db, run), await loadFacets(called));
  });
  afterAll(async () => {
    db.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("cover every operation", () => {
    expect([...called].toSorted()).toEqual(
      Object.values(OPERATIONS)
        .flatMap((facet) => Object.keys(facet))
        .toSorted(),
    );
    expect(run.size).toBeGreaterThan(100);
  });

  it("scan no growing table, in any statement of an operation", () => {
    expect([...run].flatMap((statement) => walks(db, statement))).toEqual([]);
  });

  for (const [name, statement] of STATEMENTS) {
    if (!/^\s*(select|update|delete|with)\b/.test(statement)) continue;
    it(`scan no growing table, in ${name}`, () => {
      expect(walks(db, statement)).toEqual([]);
    });
  }

  it("have no unused exception", () => {
    const texts = [...run, ...STATEMENTS.map(([, text]) => text)];
    const unused = ALLOWED.filter(
      ({ statement }) => !texts.some((text) => statement.test(text.trim()) && scans(db, text).length > 0),
    );
    expect(unused.map(({ statement }) => String(statement))).toEqual([]);
  });

  it("would show a scan", () => {
    expect(walks(db, "select * from messages m where m.text = ?")).toHaveLength(1);
    expect(walks(db, "select * from messages where id = ?")).toEqual([]);
    expect(walks(db, "update inbox set state = 2 where chat_id = ?")).toHaveLength(1);
  });
});

/** The table scans of a statement that are not allowed. */
function walks(db: SqliteDb, statement: string): string[] {
  if (ALLOWED.some((exception) => exception.statement.test(statement.trim()))) return [];
  return scans(db, statement).map((detail) => `${detail}: ${statement.trim().replaceAll(/\s+/g, " ")}`);
}

function scans(db: SqliteDb, statement: string): string[] {
  if (!/^\s*(select|update|delete|insert|with)\b/.test(statement)) return [];
  const values = Array.from(statement.matchAll(/\?/g), () => null);
  const plan = db.all<{ detail: string }>(`explain query plan ${statement}`, ...values);
  const names = new Map(
    Array.from(
      statement.matchAll(/\b(?:from|join|update|into)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?/g),
      ([, table, alias]) => [alias ?? table, table],
    ),
  );
  return plan.flatMap(({ detail }) => {
    const [, name = "", index] = /^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/.exec(detail) ?? [];
    const table = names.get(name) ?? name;
    return GROWING.includes(table) && !FEW.includes(index ?? "") ? [`${detail} (${table})`] : [];
  });
}

/** The same connection, with every statement recorded. */
function recording(db: SqliteDb, statements: Set<string>): SqliteDb {
  const noted = <Args extends readonly unknown[], Result>(
    method: (statement: Statement, ...values: Args) => Result,
  ) => {
    return (statement: Statement, ...values: Args): Result => {
      statements.add(getSql(statement, sqliteDialect));
      return method(statement, ...values);
    };
  };
  return {
    ...db,
    get: noted(db.get) as SqliteDb["get"],
    all: noted(db.all) as SqliteDb["all"],
    rows: noted(db.rows),
    run: noted(db.run),
    insert: noted(db.insert),
    send: noted(db.send),
  };
}

type ConnectionFacets = {
  readonly [Facet in keyof Facets]: {
    readonly [Name in keyof Facets[Facet]]: OnConnection<Facets[Facet][Name]>;
  };
};

/** Every operation, which records its name when it is called. */
async function loadFacets(called: Set<string>): Promise<ConnectionFacets> {
  const facets = Object.entries(OPERATIONS).map(async ([facet, entries]) => {
    const operations = Object.keys(entries).map(async (name) => {
      const operation = await findOperation(name).load();
      const noted = (db: SqliteDb, input: unknown): unknown => {
        called.add(name);
        return operation(db, input);
      };
      return [name, noted];
    });
    return [facet, Object.fromEntries(await Promise.all(operations))];
  });
  return Object.fromEntries(await Promise.all(facets)) as ConnectionFacets;
}

/** Calls every operation of the store, so that each of its statements has run. */
function everyStep(db: SqliteDb, store: ConnectionFacets): void {
  let ids = 0;
  const newSession = () => {
    ids += 1;
    return { id: `s${ids}`, kind: "chat" as const };
  };
  const routing = (source: Source, more: Partial<Routing> = {}): Routing => ({
    source,
    profile: "main",
    scope: { groupsPerUser: true, threadsPerUser: true },
    person: "p_ann",
    reset: {},
    newSession: newSession(),
    now: T0,
    ...more,
  });
  const group: Source = { ...ANN, chatType: "group", chatId: "-100" };
  const claim = { runner: "r1", take: "one" as const };

  store.runners.recordHeartbeat(db, {
    runner: { id: "r1", host: "elsewhere", boot: "b", pid: 1, started: "1" },
    now: T0,
  });
  store.runners.acquireLease(db, { name: "expiry", runner: "r1", ttlMs: 1000, now: T0 });
  store.runners.acquireLease(db, { name: "expiry", runner: "r2", ttlMs: 1000, now: T0 });
  store.runners.releaseLease(db, { name: "expiry", runner: "r1" });
  store.runners.requestDrain(db, { runner: "r1", now: T0 });

  // Routing: first contact, a reset, a reset prevented by a hold, merged accounts.
  const opened = store.conversations.open(db, routing(ANN));
  store.conversations.open(db, routing({ ...ANN, userName: "Ann", chatName: "Ann" }));
  const id = opened.session.id;
  const conversation = opened.conversation.number;
  store.sessions.hold(db, { asker: ann, session: id, name: "job", until: T0 + 9 });
  store.conversations.open(db, routing(ANN, { reset: { idleBefore: T0 + 1 } }));
  store.sessions.release(db, { asker: ann, session: id, name: "job" });
  store.conversations.open(db, routing(ANN, { reset: { idleBefore: T0 + 1 }, now: T0 + 2 }));
  store.conversations.markResetNotified(db, { conversation, notified: { note: true, notice: true } });
  for (const chatId of ["g1", "g2"]) {
    store.conversations.open(
      db,
      routing({ platform: "signal", chatType: "group", chatId, userId: "+49" }, { person: "p_old" }),
    );
  }
  store.conversations.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userIdAlt: "u" }, { person: "p_new" }),
  );
  store.conversations.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+49", userIdAlt: "u" }),
  );
  store.conversations.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+50", userIdAlt: "u" }),
  );
  store.conversations.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+50", userIdAlt: "v" }),
  );

  // Turns: claimed at once, pending, recovered, finished with a next one.
  const accepted = (source: Source, message = hello, more: object = {}) => {
    const input = { ...routing(source), messageId: `m${ids}`, message, ...more };
    return store.inbox.accept(db, input);
  };
  const cursor = { name: "telegram", value: "7" };
  const first = accepted(ANN, picture, { claim, cursor, blobs: [bytes] });
  if (first.duplicate || first.tooMany !== undefined || first.turn === undefined)
    throw new Error("the turn did not begin");
  const { turn } = first;
  accepted(ANN, picture, { claim });
  accepted(ANN, hello, { claim });
  const answerDraft = { text: "hel", thought: "" };
  store.turns.saveDraft(db, { turn: turn.number, fence: turn.fence, answerDraft });
  store.messages.append(db, {
    asker: ann,
    session: turn.session,
    messages: [hello],
    fence: turn.fence,
    now: T0,
  });
  store.turns.requestStop(db, { conversation: opened.conversation.number, now: T0 });
  store.turns.hasRunningTurn(db, { session: opened.session.id });
  store.runners.getRequests(db, { runner: "r1" });
  store.runners.retire(db, { runner: "r1" });
  const again = store.turns.claim(db, { session: turn.session, runner: "r1", take: "one", now: T0 });
  const finished = throwIfRefused(
    store.turns.finish(db, {
      turn: turn.number,
      fence: again?.fence ?? 0,
      outcome: "done",
      messages: [hello],
      usage: { inputTokens: 1 },
      deliveries: [{ target: ANN, parts: hello.parts }],
      notified: { note: true },
      next: { runner: "r1", take: "all" },
      now: T0,
    }),
  );
  store.outbox.settle(db, {
    delivery: finished.deliveries[0]?.number ?? 0,
    outcome: { state: "sent" },
    now: T0,
  });
  accepted(ANN);
  store.inbox.cancelPending(db, { conversation, now: T0 });
  accepted(group, picture);

  // The outbox: drafts, commands, a full queue, edits.
  const line = { profile: "main", source: ANN, line: "/status", runner: "r0", now: T0 };
  const asking = store.inbox.acceptCommand(db, { ...line, messageId: "line 1" });
  store.inbox.acceptCommand(db, { ...line, messageId: "line 2" });
  const together = ["one", "two"].map((messageId) => ({ ...routing(ANN), messageId, message: hello }));
  store.inbox.acceptMany(db, { messages: together });
  store.inbox.cancelPending(db, { conversation, now: T0 });
  store.inbox.moveCursor(db, { cursor, now: T0 });
  store.inbox.listOrphanedCommands(db, { platform: "telegram", now: T0 });
  const [one, two] = store.outbox.enqueue(db, {
    deliveries: [
      { target: ANN, parts: hello.parts, quiet: true },
      { target: ANN, parts: picture.parts, sendNow: true },
    ],
    session: id,
    answeredCommand: asking.inbox,
    resetNoticeFor: conversation,
    runner: "r0",
    now: T0,
  }).deliveries;
  const [unowned] = store.outbox.enqueue(db, {
    deliveries: [{ target: ANN, parts: picture.parts }],
    blobs: [bytes],
    runner: "r0",
    now: T0,
  }).deliveries;
  for (const delivery of [one, two, unowned].map((it) => it?.number ?? 0)) {
    store.outbox.beginDelivery(db, { delivery, runner: "r0", now: T0 });
    store.outbox.listOrphanedDeliveries(db, { platform: "telegram", now: T0 });
    const aside = { state: "waiting", nextAt: T0, error: "500", failed: true, deferred: true } as const;
    store.outbox.settle(db, {
      delivery,
      outcome: aside,
      notice: { target: ANN, parts: hello.parts },
      now: T0,
    });
    store.outbox.listDeferredDeliveries(db, { limit: 10 });
    store.outbox.settle(db, { delivery, outcome: { state: "sent" }, now: T0 });
  }
  for (const ending of ["complete", "abandon", "never shown"]) {
    const drafting = accepted({ ...ANN, chatId: ending }, hello, { claim });
    if (!("turn" in drafting) || drafting.turn === undefined) throw new Error("the turn did not begin");
    const held = { turn: drafting.turn.number, fence: drafting.turn.fence };
    const { number: draft } = throwIfRefused(store.outbox.beginDraft(db, { ...held, target: ANN, now: T0 }));
    store.outbox.recordDraftOutcome(db, {
      delivery: draft,
      shown: ending === "never shown" ? "nothing" : "unknown",
    });
    const deliveries = ending === "complete" ? [{ target: ANN, parts: hello.parts, draft }] : [];
    store.turns.finish(db, { ...held, outcome: "done", messages: [], deliveries, now: T0 });
  }
  for (const maxPending of [2, 0]) accepted(ANN, hello, { claim, maxPending });
  const thought = { profile: "main", source: ANN, now: T0 };
  accepted(ANN, picture, { messageId: "thought" });
  store.inbox.editInbound(db, { ...thought, messageId: "thought", message: picture, blobs: [bytes] });
  store.inbox.editInbound(db, { ...thought, messageId: "thought", message: hello });
  store.inbox.editInbound(db, { ...thought, messageId: "thought" });
  store.inbox.cancelPending(db, { conversation, now: T0 });
  store.conversations.changeConversationSettings(db, {
    asker: ann,
    conversation,
    change: { busy: "queue" },
    now: T0,
  });

  // Views.
  const made = throwIfRefused(
    store.sessions.create(db, {
      session: { ...newSession(), owner: "p_ann", title: "Plan" },
      profile: "main",
      now: T0,
    }),
  );
  const ask = { asker: ann, session: made.id, now: T0 };
  store.messages.append(db, { ...ask, messages: [hello, hello, picture], blobs: [bytes] });
  store.messages.changeView(db, { ...ask, kind: "undo" });
  store.messages.changeView(db, { ...ask, kind: "redo" });
  store.messages.changeView(db, { ...ask, kind: "rewind", to: { session: made.id, seq: 2 } });
  store.messages.changeView(db, { ...ask, kind: "restore", version: 0 });
  store.messages.changeView(db, { ...ask, kind: "compress", summary: hello, keepLast: 1 });
  store.messages.changeView(db, { ...ask, kind: "rewrite", messages: [hello, picture] });
  const copy = throwIfRefused(store.sessions.fork(db, { ...ask, newSession: newSession() }));
  store.sessions.setTitle(db, { ...ask, title: "Other" });
  store.sessions.setTitle(db, { ...ask, title: "Other", numbered: true });
  store.sessions.change(db, { ...ask, change: { model: "m", archived: true, ended: true } });
  store.sessions.change(db, { ...ask, change: { archived: false, ended: false } });
  store.sessions.recordUsage(db, { ...ask, purpose: "answer", usage: { inputTokens: 1 }, now: T0 });
  store.conversations.switchTo(db, { ...ask, conversation });

  // Editors: attached, pending inputs, inputs that only they may claim.
  const desk = throwIfRefused(
    store.sessions.create(db, { session: { ...newSession(), owner: "owner" }, profile: "main", now: T0 }),
  );
  const editor = { platform: "acp", chatType: "dm", chatId: desk.id };
  const identity = { source: editor, profile: "second", scope: routing(ANN).scope };
  for (const now of [T0, T0 + 1])
    store.conversations.attach(db, { asker: everyone, session: desk.id, ...identity, now });
  const own = { runner: "e1", take: "one", own: true } as const;
  for (const runner of ["e1", "e1", "e2"])
    store.inbox.accept(db, {
      ...routing(editor),
      ...identity,
      messageId: `m${ids}`,
      message: hello,
      claim: { ...own, runner },
    });
  for (const runner of ["e3", "e1", "e2"])
    store.turns.claim(db, { session: desk.id, ...own, runner, now: T0 });
  store.turns.claim(db, { session: desk.id, ...claim, now: T0 });
  store.conversations.reset(db, { asker: ann, conversation, newSession: newSession(), now: T0 });
  store.sessions.importSession(db, {
    profile: "main",
    session: { ...newSession(), owner: "p_ann", title: "Plan" },
    usage: emptyUsage(),
    createdAt: T0,
    endedAt: T0,
    messages: [
      { ...hello, at: T0 },
      { ...hello, at: T0 },
    ],
    blobs: [],
    shows: [{ from: 1, to: 1 }],
    hidden: [{ from: 2, to: 2 }],
    now: T0,
  });
  const scope = { groupsPerUser: true, threadsPerUser: true };
  const chats = [{ source: ANN, scope, activeAt: T0 + 9 }];
  const brought = {
    profile: "main",
    session: newSession(),
    usage: emptyUsage(),
    createdAt: T0,
    messages: [],
    blobs: [],
    shows: [],
    hidden: [],
    now: T0,
  };
  store.sessions.importSession(db, { ...brought, conversations: chats });
  store.sessions.importSession(db, {
    ...brought,
    session: newSession(),
    account: { platform: "telegram", userId: "x" },
  });
  store.sessions.importMessages(db, {
    profile: "main",
    session: brought.session.id,
    after: 0,
    messages: [{ ...hello, at: T0 }],
    blobs: [],
    usage: emptyUsage(),
    title: "Brought",
    conversations: chats,
    now: T0,
  });
  indexMessages(db, 9);
  store.messages.append(db, { ...ask, messages: [hello] });

  // Reads, as each kind of asker.
  for (const asker of [ann, inChat, everyone]) {
    store.sessions.getSession(db, { asker, session: made.id });
    store.sessions.find(db, { asker, text: made.id });
    store.sessions.find(db, { asker, text: made.handle });
    store.sessions.find(db, { asker, text: "s" });
    store.sessions.findByTitle(db, { asker, title: "Plan" });
    store.conversations.findConversations(db, { asker, source: ANN });
    store.conversations.findConversations(db, { asker, session: id });
    store.conversations.listConversations(db, { asker, platform: "telegram" });
    store.conversations.listConversations(db, { asker: { person: "p_ann", chat: "chat:telegram:1" } });
    store.messages.readHistory(db, { asker, session: copy.id });
    store.messages.listMessages(db, { asker, session: made.id });
    store.messages.getViewRanges(db, { asker, session: copy.id });
    store.messages.listVersions(db, { asker, session: made.id });
    store.conversations.listDecisions(db, { asker, conversation });
    store.inbox.listPending(db, { asker, session: id });
    store.turns.getDraft(db, { asker, session: id });
    store.sessions.getDiagnostics(db, { asker, session: id });
    store.conversations.findConversationsByKey(db, { asker, key: "agent:main:telegram:dm:ann" });
    store.inbox.findInbound(db, { asker, session: id, seq: 1 });
    store.inbox.findInbound(db, { asker, platform: "telegram", chatId: "ann", messageId: "m1" });
    store.messages.readBlob(db, { asker, hash: bytes.hash });
    store.sessions.hasOther(db, { asker, session: made.id });
    store.sessions.getStats(db, { asker });
    store.messages.searchMessages(db, { asker, text: "hello" });
    store.messages.searchMessages(db, {
      asker,
      text: "hello",
      session: copy.id,
      platforms: ["telegram"],
      kinds: ["chat"],
    });
    store.messages.countUnindexed(db, { asker, text: "hello" });
    store.sessions.querySessions(db, { asker });
    store.sessions.querySessions(db, {
      asker,
      activeSince: T0,
      platform: "telegram",
      owner: "p_ann",
      kinds: ["chat"],
      archived: true,
      titled: true,
      used: true,
      cwd: "/",
      cursor: "1.1",
    });
    store.sessions.prune(db, {
      asker,
      before: T0,
      platform: "telegram",
      kinds: ["chat"],
      dryRun: true,
      now: T0,
    });
  }
  store.turns.listClaimable(db, { now: T0 });

  // Processes: started, printing, adopted, reported, ended.
  for (const [index, background] of [true, false, true].entries()) {
    const watch = { mode: "all", patterns: [], wakes: true } as const;
    const process = { id: `proc_${index}`, command: "make", cwd: "/", background, pty: false, watch };
    const beginning = { process, session: id, conversation, target: ANN, maxRunning: 3, now: T0 };
    throwIfRefused(store.processes.beginProcess(db, beginning));
    const running = { id: process.id, keeper: `k${index}`, pid: 1, startTime: "1", pty: false, now: T0 };
    if (index < 2) store.processes.markProcessRunning(db, running);
  }
  const printed = { id: "proc_0", keeper: "k0", from: 0, text: "x".repeat(5_000), matched: ["x"] };
  store.processes.appendProcessOutput(db, printed);
  store.processes.appendProcessOutput(db, { ...printed, from: 5_000, text: "y".repeat(200_000) });
  store.processes.appendProcessOutput(db, { ...printed, from: 205_000, text: "z" });
  store.processes.appendProcessOutput(db, { ...printed, from: 205_001, text: "z" });
  store.processes.adoptProcesses(db, { keeper: "k2", now: T0 + 31_000 });
  const untold = { process: "proc_0", before: { upTo: 0, matches: 0, end: false }, matches: 0, end: false };
  store.processes.recordProcessInput(db, { id: untold.process, unfinished: "rm -" });
  store.processes.markProcessReported(db, { ...untold, upTo: 1, now: T0 });
  const tells = { ...untold, before: { ...untold.before, upTo: 1 }, upTo: 2, isProgress: true };
  store.outbox.enqueue(db, {
    deliveries: [{ target: ANN, parts: hello.parts }],
    runner: "r0",
    processReport: tells,
    now: T0,
  });
  for (const asker of [ann, inChat, everyone]) {
    store.processes.getProcess(db, { asker, id: "proc_0" });
    for (const from of [0, 300, undefined])
      store.processes.readProcessOutput(db, { asker, id: "proc_0", ...(from !== undefined && { from }) });
    for (const narrow of [{}, { session: id }, { conversation }, { session: id, conversation }]) {
      store.processes.listProcesses(db, { asker, ...narrow });
      store.processes.listProcesses(db, { asker, ...narrow, endedSince: T0, foreground: true, limit: 9 });
    }
  }
  store.processes.listWatchedProcesses(db);
  store.conversations.open(db, routing(ANN, { reset: { idleBefore: T0 + 99 }, now: T0 + 99 }));
  store.sessions.remove(db, { asker: everyone, session: id, now: T0 });
  for (const index of [0, 1])
    store.processes.endProcess(db, { id: `proc_${index}`, exit: { code: 0 }, now: T0 });
  store.outbox.getDelivery(db, { number: 1 });
  store.outbox.listPendingDeliveries(db, { dueAt: T0, limit: 9 });
  store.outbox.listPendingDeliveries(db, { dueAt: T0, limit: 9, except: [1] });
  store.outbox.listPendingDeliveries(db, { dueAt: T0, limit: 9, platform: "telegram" });
  store.inbox.getCursor(db, { name: "telegram" });

  // Access: codes, guesses, roles, linked accounts, and approvals.
  const code = { platform: "telegram", salt: "s", hash: "h", expiresAt: T0 + 9, everyMs: 5, maxPending: 3 };
  const letIn = store.access.requestPairing(db, {
    ...code,
    asker: { ...ANN, chatId: "eve", userId: "eve" },
    now: T0,
  });
  const linking = store.access.requestPairing(db, { ...code, person: "p_ann", now: T0 });
  if (letIn.state !== "asked" || linking.state !== "asked") throw new Error("there is no code");
  store.access.listPairings(db, { now: T0 });
  store.access.listPairings(db, { platform: "telegram", now: T0 });
  const { person: eve } = throwIfRefused(store.access.redeemPairing(db, { pairing: letIn.number, now: T0 }));
  const phone = { platform: "signal", userId: "+60", altId: "w" };
  store.access.redeemPairing(db, { pairing: linking.number, account: phone, now: T0 });
  store.access.countGuess(db, { name: "x", maxGuesses: 3, lockMs: 1, now: T0 });
  store.access.clearGuesses(db, { name: "x" });
  store.access.setRole(db, { person: eve, role: "member", now: T0 });
  store.access.listGrants(db);
  store.access.getAccount(db, phone);
  store.access.getAccount(db, { platform: "telegram", userId: "eve" });
  store.conversations.open(db, routing({ ...ANN, platform: "signal", chatId: "+60", userId: "+60" }));
  store.access.linkAccount(db, { account: phone, person: eve, now: T0 });
  store.access.linkAccount(db, {
    account: { platform: "telegram", userId: "fay" },
    person: "p_ann",
    now: T0,
  });
  store.sessions.setTitle(db, { ...ask, title: "Fay" });
  store.conversations.open(db, routing({ ...ANN, chatId: "gus", userId: "gus" }, { person: "p_gus" }));
  store.access.linkAccount(db, {
    account: { platform: "telegram", userId: "gus" },
    person: "p_ann",
    now: T0,
  });
  const acting = accepted(ANN, hello, { claim });
  if (acting.duplicate || acting.tooMany !== undefined || acting.turn === undefined)
    throw new Error("the turn did not begin");
  const { number: doing, fence: held } = acting.turn;
  const request = { title: "list", pattern: "ls" };
  const requested = throwIfRefused(
    store.access.createApproval(db, { turn: doing, fence: held, request, deadline: T0, now: T0 }),
  );
  const approval = requested.number;
  store.access.moveApprovalDeadline(db, { approval, deadline: T0 + 60_000 });
  store.access.answerApproval(db, { person: requested.person, approval, answer: "always", now: T0 });
  store.access.answerApproval(db, { person: requested.person, approval, answer: "once", now: T0 });
  const denied = throwIfRefused(
    store.access.createApproval(db, { turn: doing, fence: held, request, deadline: T0, now: T0 }),
  );
  store.access.answerApproval(db, {
    person: denied.person,
    approval: denied.number,
    answer: "never",
    now: T0,
  });
  store.access.listApprovals(db, { person: requested.person, conversation });
  store.access.getApproval(db, { asker: ann, approval });
  store.access.checkApprovalRules(db, {
    person: requested.person,
    session: requested.session,
    pattern: "ls",
  });
  store.runners.retire(db, { runner: "r1" });
  const resumed = store.turns.claim(db, { session: requested.session, runner: "r1", take: "one", now: T0 });
  const fenced = { turn: doing, fence: resumed?.fence ?? 0 };
  throwIfRefused(store.access.createApproval(db, { ...fenced, request, deadline: T0, now: T0 }));
  store.outbox.enqueue(db, { deliveries: [], runner: "r0", approval: approval, now: T0 });
  store.access.listApprovalRules(db, { person: requested.person });
  store.access.removeApprovalRule(db, {
    person: requested.person,
    pattern: "ls",
    session: requested.session,
    now: T0,
  });
  store.turns.finish(db, { ...fenced, outcome: "done", messages: [], now: T0 });

  // Memory: changed, restored, flushed; and an agent woken by a process.
  for (const owner of ["p_gus in chat:x", "p_ann", "p_ann in chat:x"])
    store.memory.changeMemory(db, { owner, change: { action: "add", text: owner }, now: T0 });
  store.memory.restoreMemory(db, { owner: "p_ann", version: 1, now: T0 });
  store.memory.getMemory(db, { owner: "p_ann" });
  store.memory.listMemoryVersions(db, { owner: "p_ann" });
  const lively = store.conversations.open(
    db,
    routing({ ...ANN, chatId: "hal", userId: "hal" }, { person: "p_ann" }),
  );
  const { id: flushed } = lively.session;
  store.messages.append(db, { asker: everyone, session: flushed, messages: Array(4).fill(hello), now: T0 });
  store.memory.requestFlush(db, { session: flushed, now: T0 });
  const flush = store.memory.claimFlush(db, { runner: "r1", now: T0 });
  store.memory.finishFlush(db, {
    flush: flush?.number ?? 0,
    runner: "r1",
    changes: [],
    usage: { inputTokens: 1 },
    now: T0,
  });
  for (const name of ["proc_8", "proc_9"]) {
    const watch = { mode: "all", patterns: [], wakes: true } as const;
    const process = { id: name, command: "make", cwd: "/", background: true, pty: false, watch };
    const { number } = lively.conversation;
    store.processes.beginProcess(db, {
      ...{ process, session: flushed, conversation: number, target: ANN, maxRunning: 9, now: T0 },
    });
    store.processes.endProcess(db, { id: name, exit: { code: 0 }, now: T0 });
    const woken = store.processes.wakeAgent(db, { process: name, message: hello, claim, now: T0 });
    if (woken.state !== "woken") throw new Error("the process is not reported");
  }

  // Periodic work: idle conversations, finished rows, leases.
  for (const { conversation: silent } of store.conversations.listIdle(db, { before: T0 + 99, limit: 9 }))
    store.conversations.expireConversation(db, {
      conversation: silent.number,
      reset: { idleBefore: T0 + 99 },
      now: T0 + 99,
    });
  store.conversations.clampActivity(db, { now: T0 + 99 });
  store.conversations.setHomeChannel(db, {
    home: { platform: "telegram", chatId: "ann", name: "Ann" },
    now: T0,
  });
  store.conversations.listHomeChannels(db);
  store.conversations.removeHomeChannel(db, { platform: "telegram" });
  store.runners.listLeases(db, { now: T0 });
  for (const asker of [ann, inChat, everyone]) {
    store.sessions.getInsights(db, { asker, since: T0, platform: "telegram" });
    store.sessions.getInsights(db, { asker, since: T0 });
  }
  store.sessions.listUsageEntries(db, ask);
  store.upkeep.purgeFinished(db, { before: T0, limit: 3, now: T0 });

  // Removal: with a fork that shows a part, then the fork, then ended sessions.
  store.sessions.remove(db, ask);
  store.sessions.remove(db, { ...ask, session: copy.id });
  store.sessions.prune(db, { asker: ann, before: T0 + 99, dryRun: false, now: T0 });

  // A person, also in chats with others: exported, and erased.
  const shared = {
    ...routing(group, { scope: { groupsPerUser: false, threadsPerUser: false } }),
    messageId: "shared",
  };
  const spoken = store.inbox.accept(db, {
    ...shared,
    source: { ...group, chatId: "-200" },
    message: picture,
    blobs: [bytes],
    claim,
  });
  if (spoken.duplicate || spoken.tooMany !== undefined || spoken.turn === undefined)
    throw new Error("the turn did not begin");
  const { number, fence } = spoken.turn;
  const messages: NewMessage[] = [
    { ...hello, role: "assistant", toolCalls: [{ id: "1", name: "t", arguments: {} }] },
  ];
  store.turns.finish(db, {
    turn: number,
    fence,
    outcome: "done",
    messages,
    deliveries: [{ target: group, parts: [] }],
    now: T0,
  });
  store.access.readPersonData(db, { platform: "telegram", account: "ann" });
  store.access.readPersonData(db, { person: "p_ann" });
  for (let step: ErasureProgress = { done: false }; !step.done; )
    step = throwIfRefused(store.access.erasePerson(db, { person: "p_ann", limit: 1, now: T0, ...step }));
}
