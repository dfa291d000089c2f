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
import type { ErasureProgress } from "../../ports/store.ts";
import { type Db, openWriter } from "./connection.ts";
import { WRITE_OPERATIONS } from "./operations.ts";
import { READ_OPERATIONS } from "./read-operations.ts";
import { indexMessages } from "./search.ts";
import * as sql from "./sql.ts";

/** Tables that grow with use. Whoever walks through one of them makes everyone wait, sooner or later. */
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

/** Partial indexes of what waits, runs or was left over: few rows at any time, so walking them is fine. */
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

/** What may walk through a whole table, and why. */
const ALLOWED: readonly { readonly statement: RegExp; readonly why: string }[] = [
  {
    statement: /from conversations where account = \?/,
    why: "two accounts turn out to be one: once in an account's life",
  },
  { statement: /update (conversations|approvals) set person = \? where person = \?/, why: "the same" },
  {
    statement: /^update conversations set active_at = \? where expired is null/,
    why: "once an hour",
  },
  {
    statement: /^select \* from sessions where n in \(select s\.n from sessions s where 1 and/,
    why: "everyone's list, for the operator, in the thread of long reads",
  },
  {
    statement: /^select (count|s\.platform|s\.kind|s\.owner).* from sessions s where 1 and/,
    why: "everyone's numbers, for the operator, in the thread of long reads",
  },
  {
    statement: /^select s\.\* from sessions s where s\.title is not null and s\.removed_at is null and 1$/,
    why: "everyone's titles, for the operator",
  },
  {
    statement: /^select 1 from sessions s where 1 and s\.removed_at is null and s\.id <> \? limit 1$/,
    why: "everyone's: the first or the second row is the answer",
  },
  {
    statement: /^select \* from decisions where from_session = \? or to_session = \?/,
    why: "why a session is where it is: only a person asks, in the thread of long reads",
  },
  { statement: /^select \* from inbox where seq = \? and turn in/, why: "how a message came in: the same" },
  {
    statement: /in \(\s*select s\.n from sessions s where 1\s+union select p\.piece_session/,
    why: "everyone's search, for the operator, in the thread of long reads: every session is allowed",
  },
  {
    statement:
      /^select \*, session in \(select n from sessions where owner = \?\) as owned from (turns|deliveries|processes)/,
    why: "everything of a person: asked for once in their life",
  },
  { statement: /^select \* from conversations where person = \? or account in/, why: "the same" },
  { statement: /^select i\.\* from inbox i where i\.conversation in/, why: "the same" },
  {
    statement: /^select n, origin from sessions where origin is not null$/,
    why: "the same, at the end of erasing",
  },
  {
    statement: /^delete from inbox where conversation = \?$/,
    why: "the same: a person has few conversations",
  },
  {
    statement: /^select a\.\*, s\.id as session_id from approvals a .* order by a\.n$/,
    why: "the same: what they were asked, and what was asked because of them",
  },
  {
    statement: /^select s\.\* from sessions s where 1 and s\.removed_at is null and s\.last_at >= \?/,
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
  let db: Db;
  const run = new Set<string>();
  const called = new Set<string>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postrider-plans-"));
    db = openWriter({ file: join(folder, "postrider.db") });
    everyStep(recording(db, run), called);
  });
  afterAll(async () => {
    db.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("are taken from every step and every read there is", () => {
    expect([...called].toSorted()).toEqual(
      [...Object.keys(WRITE_OPERATIONS), ...Object.keys(READ_OPERATIONS)].toSorted(),
    );
    expect(run.size).toBeGreaterThan(100);
  });

  it("walk through no table that grows, in any statement that a step or read has run", () => {
    expect([...run].flatMap((statement) => walks(db, statement))).toEqual([]);
  });

  for (const [name, statement] of Object.entries(sql)) {
    if (!/^\s*(select|update|delete|with)\b/.test(statement)) continue;
    it(`walk through no table that grows, in ${name}`, () => {
      expect(walks(db, statement)).toEqual([]);
    });
  }

  it("have no exception that nothing needs", () => {
    const unused = ALLOWED.filter(
      ({ statement }) => ![...run].some((text) => statement.test(text.trim()) && scans(db, text).length > 0),
    );
    expect(unused.map(({ statement }) => String(statement))).toEqual([]);
  });

  it("would show a walk", () => {
    expect(walks(db, "select * from messages m where m.text = ?")).toHaveLength(1);
    expect(walks(db, "select * from messages where id = ?")).toEqual([]);
    expect(walks(db, "update inbox set state = 2 where chat_id = ?")).toHaveLength(1);
  });
});

/** The table walks of a statement that are not allowed. */
function walks(db: Db, statement: string): string[] {
  if (ALLOWED.some((exception) => exception.statement.test(statement.trim()))) return [];
  return scans(db, statement).map((detail) => `${detail}: ${statement.trim().replaceAll(/\s+/g, " ")}`);
}

function scans(db: Db, statement: string): string[] {
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

/** The same connection, with every statement written down. */
function recording(db: Db, statements: Set<string>): Db {
  const noted = <Args extends readonly unknown[], Result>(
    method: (statement: string, ...values: Args) => Result,
  ) => {
    return (statement: string, ...values: Args): Result => {
      statements.add(statement);
      return method(statement, ...values);
    };
  };
  return {
    ...db,
    get: noted(db.get) as Db["get"],
    all: noted(db.all) as Db["all"],
    rows: noted(db.rows),
    run: noted(db.run),
  };
}

/** Goes through all that a store can do, so that each of its statements has been run. */
function everyStep(db: Db, called: Set<string>): void {
  const noting = <Table extends object>(table: Table): Table =>
    new Proxy(table, {
      get(target, name, receiver) {
        called.add(String(name));
        return Reflect.get(target, name, receiver);
      },
    });
  const [write, read] = [noting(WRITE_OPERATIONS), noting(READ_OPERATIONS)];
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

  write.recordHeartbeat(db, {
    runner: { id: "r1", host: "elsewhere", boot: "b", pid: 1, started: "1" },
    now: T0,
  });
  write.acquireLease(db, { name: "expiry", runner: "r1", ttlMs: 1000, now: T0 });
  write.acquireLease(db, { name: "expiry", runner: "r2", ttlMs: 1000, now: T0 });
  write.releaseLease(db, { name: "expiry", runner: "r1" });

  // Routing: first contact, a reset, one kept by a hold, a joining of accounts.
  const opened = write.open(db, routing(ANN));
  write.open(db, routing({ ...ANN, userName: "Ann", chatName: "Ann" }));
  const id = opened.session.id;
  const conversation = opened.conversation.number;
  write.hold(db, { asker: ann, session: id, name: "job", until: T0 + 9 });
  write.open(db, routing(ANN, { reset: { idleBefore: T0 + 1 } }));
  write.release(db, { asker: ann, session: id, name: "job" });
  write.open(db, routing(ANN, { reset: { idleBefore: T0 + 1 }, now: T0 + 2 }));
  write.markResetNotified(db, { conversation, notified: { note: true, notice: true } });
  for (const chatId of ["g1", "g2"]) {
    write.open(
      db,
      routing({ platform: "signal", chatType: "group", chatId, userId: "+49" }, { person: "p_old" }),
    );
  }
  write.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userIdAlt: "u" }, { person: "p_new" }),
  );
  write.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+49", userIdAlt: "u" }),
  );
  write.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+50", userIdAlt: "u" }),
  );
  write.open(
    db,
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+50", userIdAlt: "v" }),
  );

  // Turns: at once, waiting, taken up again, finished with a next one.
  const accepted = (source: Source, message = hello, more: object = {}) => {
    const input = { ...routing(source), messageId: `m${ids}`, message, ...more };
    return write.accept(db, input);
  };
  const cursor = { name: "telegram", value: "7" };
  const first = accepted(ANN, picture, { claim, cursor, blobs: [bytes] });
  if (first.duplicate || first.tooMany !== undefined || first.turn === undefined)
    throw new Error("the turn did not begin");
  const { turn } = first;
  accepted(ANN, picture, { claim });
  accepted(ANN, hello, { claim });
  const said = { text: "hel", thought: "" };
  write.saveDraft(db, { turn: turn.number, fence: turn.fence, answerDraft: said });
  write.append(db, { asker: ann, session: turn.session, messages: [hello], fence: turn.fence, now: T0 });
  write.retire(db, { runner: "r1" });
  const again = write.claim(db, { session: turn.session, runner: "r1", take: "one", now: T0 });
  const finished = throwIfRefused(
    write.finish(db, {
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
  write.settle(db, { delivery: finished.deliveries[0]?.number ?? 0, outcome: { state: "sent" }, now: T0 });
  accepted(ANN);
  write.cancelPending(db, { conversation, now: T0 });
  accepted(group, picture);

  // The outbox: drafts, lines, too much that waits, second thoughts.
  const line = { profile: "main", source: ANN, line: "/status", runner: "r0", now: T0 };
  const asking = write.acceptCommand(db, { ...line, messageId: "line 1" });
  write.acceptCommand(db, { ...line, messageId: "line 2" });
  const together = ["one", "two"].map((messageId) => ({ ...routing(ANN), messageId, message: hello }));
  write.acceptMany(db, { messages: together });
  write.cancelPending(db, { conversation, now: T0 });
  write.moveCursor(db, { cursor, now: T0 });
  read.listOrphanedCommands(db, { platform: "telegram", now: T0 });
  const [one, two] = write.enqueue(db, {
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
  const [unowned] = write.enqueue(db, {
    deliveries: [{ target: ANN, parts: picture.parts }],
    blobs: [bytes],
    runner: "r0",
    now: T0,
  }).deliveries;
  for (const delivery of [one, two, unowned].map((it) => it?.number ?? 0)) {
    write.beginDelivery(db, { delivery, runner: "r0", now: T0 });
    read.listOrphanedDeliveries(db, { platform: "telegram", now: T0 });
    const aside = { state: "waiting", nextAt: T0, error: "500", failed: true, aside: true } as const;
    write.settle(db, { delivery, outcome: aside, notice: { target: ANN, parts: hello.parts }, now: T0 });
    read.listDeferredDeliveries(db, { limit: 10 });
    write.settle(db, { delivery, outcome: { state: "sent" }, now: T0 });
  }
  for (const ending of ["complete", "abandon", "never shown"]) {
    const drafting = accepted({ ...ANN, chatId: ending }, hello, { claim });
    if (!("turn" in drafting) || drafting.turn === undefined) throw new Error("the turn did not begin");
    const held = { turn: drafting.turn.number, fence: drafting.turn.fence };
    const { number: draft } = throwIfRefused(write.beginDraft(db, { ...held, target: ANN, now: T0 }));
    write.recordDraftOutcome(db, {
      delivery: draft,
      shown: ending === "never shown" ? "nothing" : "unknown",
    });
    const deliveries = ending === "complete" ? [{ target: ANN, parts: hello.parts, draft }] : [];
    write.finish(db, { ...held, outcome: "done", messages: [], deliveries, now: T0 });
  }
  for (const mostWaiting of [2, 0]) accepted(ANN, hello, { claim, mostWaiting });
  const thought = { profile: "main", source: ANN, now: T0 };
  accepted(ANN, picture, { messageId: "thought" });
  write.editInbound(db, { ...thought, messageId: "thought", message: picture, blobs: [bytes] });
  write.editInbound(db, { ...thought, messageId: "thought", message: hello });
  write.editInbound(db, { ...thought, messageId: "thought" });
  write.cancelPending(db, { conversation, now: T0 });
  write.changeConversationSettings(db, { asker: ann, conversation, change: { busy: "queue" }, now: T0 });

  // Shapes.
  const made = throwIfRefused(
    write.create(db, {
      session: { ...newSession(), owner: "p_ann", title: "Plan" },
      profile: "main",
      now: T0,
    }),
  );
  const ask = { asker: ann, session: made.id, now: T0 };
  write.append(db, { ...ask, messages: [hello, hello, picture], blobs: [bytes] });
  write.changeView(db, { ...ask, kind: "undo" });
  write.changeView(db, { ...ask, kind: "redo" });
  write.changeView(db, { ...ask, kind: "rewind", to: { session: made.id, seq: 2 } });
  write.changeView(db, { ...ask, kind: "restore", version: 0 });
  write.changeView(db, { ...ask, kind: "compress", summary: hello, keepLast: 1 });
  write.changeView(db, { ...ask, kind: "rewrite", messages: [hello, picture] });
  const copy = throwIfRefused(write.fork(db, { ...ask, newSession: newSession() }));
  write.setTitle(db, { ...ask, title: "Other" });
  write.setTitle(db, { ...ask, title: "Other", numbered: true });
  write.change(db, { ...ask, change: { model: "m", archived: true, ended: true } });
  write.change(db, { ...ask, change: { archived: false, ended: false } });
  write.recordUsage(db, { ...ask, purpose: "answer", usage: { inputTokens: 1 }, now: T0 });
  write.switchTo(db, { ...ask, conversation });

  // Editors: attached, what waits for them, what is left to them.
  const desk = throwIfRefused(
    write.create(db, { session: { ...newSession(), owner: "owner" }, profile: "main", now: T0 }),
  );
  const editor = { platform: "acp", chatType: "dm", chatId: desk.id };
  const place = { source: editor, profile: "second", scope: routing(ANN).scope };
  for (const now of [T0, T0 + 1]) write.attach(db, { asker: everyone, session: desk.id, ...place, now });
  const own = { runner: "e1", take: "one", own: true } as const;
  for (const runner of ["e1", "e1", "e2"])
    write.accept(db, {
      ...routing(editor),
      ...place,
      messageId: `m${ids}`,
      message: hello,
      claim: { ...own, runner },
    });
  for (const runner of ["e3", "e1", "e2"]) write.claim(db, { session: desk.id, ...own, runner, now: T0 });
  write.claim(db, { session: desk.id, ...claim, now: T0 });
  write.reset(db, { asker: ann, conversation, newSession: newSession(), now: T0 });
  write.importSession(db, {
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
  write.importSession(db, { ...brought, conversations: chats });
  write.importSession(db, {
    ...brought,
    session: newSession(),
    account: { platform: "telegram", userId: "x" },
  });
  write.importMessages(db, {
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
  write.append(db, { ...ask, messages: [hello] });

  // Reads, as each sort of asker.
  for (const asker of [ann, inChat, everyone]) {
    read.find(db, { asker, text: made.id });
    read.find(db, { asker, text: made.handle });
    read.find(db, { asker, text: "s" });
    read.findByTitle(db, { asker, title: "Plan" });
    read.findConversations(db, { asker, source: ANN });
    read.findConversations(db, { asker, session: id });
    read.listConversations(db, { asker, platform: "telegram" });
    read.listConversations(db, { asker: { person: "p_ann", chat: "chat:telegram:1" } });
    read.readHistory(db, { asker, session: copy.id });
    read.listMessages(db, { asker, session: made.id });
    read.getViewRanges(db, { asker, session: copy.id });
    read.listVersions(db, { asker, session: made.id });
    read.listDecisions(db, { asker, conversation });
    read.listPending(db, { asker, session: id });
    read.getDraft(db, { asker, session: id });
    read.getDiagnostics(db, { asker, session: id });
    read.findConversationsByKey(db, { asker, key: "agent:main:telegram:dm:ann" });
    read.findInbound(db, { asker, session: id, seq: 1 });
    read.findInbound(db, { asker, platform: "telegram", chatId: "ann", messageId: "m1" });
    read.readBlob(db, { asker, hash: bytes.hash });
    read.hasOther(db, { asker, session: made.id });
    read.getStats(db, { asker });
    read.searchMessages(db, { asker, text: "hello" });
    read.searchMessages(db, {
      asker,
      text: "hello",
      session: copy.id,
      platforms: ["telegram"],
      kinds: ["chat"],
    });
    read.countUnindexed(db, { asker, text: "hello" });
    read.querySessions(db, { asker });
    read.querySessions(db, {
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
    write.prune(db, { asker, before: T0, platform: "telegram", kinds: ["chat"], dryRun: true, now: T0 });
  }
  read.listClaimable(db, { now: T0 });

  // Processes: begun, printing, adopted, told of, ended.
  for (const [index, background] of [true, false, true].entries()) {
    const watch = { mode: "all", patterns: [], wakes: true } as const;
    const program = { id: `proc_${index}`, command: "make", cwd: "/", background, pty: false, watch };
    const beginning = { process: program, session: id, conversation, target: ANN, maxRunning: 3, now: T0 };
    throwIfRefused(write.beginProcess(db, beginning));
    const running = { id: program.id, keeper: `k${index}`, pid: 1, startTime: "1", pty: false, now: T0 };
    if (index < 2) write.markProcessRunning(db, running);
  }
  const printed = { id: "proc_0", keeper: "k0", from: 0, text: "x".repeat(5_000), matched: ["x"] };
  write.appendProcessOutput(db, printed);
  write.appendProcessOutput(db, { ...printed, from: 5_000, text: "y".repeat(200_000) });
  write.appendProcessOutput(db, { ...printed, from: 205_000, text: "z" });
  write.appendProcessOutput(db, { ...printed, from: 205_001, text: "z" });
  write.adoptProcesses(db, { keeper: "k2", now: T0 + 31_000 });
  const untold = { process: "proc_0", before: { upTo: 0, matches: 0, end: false }, matches: 0, end: false };
  write.recordProcessInput(db, { id: untold.process, unfinished: "rm -" });
  write.markProcessReported(db, { ...untold, upTo: 1, now: T0 });
  const tells = { ...untold, before: { ...untold.before, upTo: 1 }, upTo: 2, isProgress: true };
  write.enqueue(db, {
    deliveries: [{ target: ANN, parts: hello.parts }],
    runner: "r0",
    processReport: tells,
    now: T0,
  });
  for (const asker of [ann, inChat, everyone]) {
    read.getProcess(db, { asker, id: "proc_0" });
    for (const from of [0, 300, undefined])
      read.readProcessOutput(db, { asker, id: "proc_0", ...(from !== undefined && { from }) });
    for (const narrow of [{}, { session: id }, { conversation }, { session: id, conversation }]) {
      read.listProcesses(db, { asker, ...narrow });
      read.listProcesses(db, { asker, ...narrow, endedSince: T0, foreground: true, limit: 9 });
    }
  }
  read.listWatchedProcesses(db);
  write.open(db, routing(ANN, { reset: { idleBefore: T0 + 99 }, now: T0 + 99 }));
  write.remove(db, { asker: everyone, session: id, now: T0 });
  for (const index of [0, 1]) write.endProcess(db, { id: `proc_${index}`, exit: { code: 0 }, now: T0 });
  read.getDelivery(db, { number: 1 });
  read.listPendingDeliveries(db, { dueAt: T0, limit: 9 });
  read.listPendingDeliveries(db, { dueAt: T0, limit: 9, platform: "telegram" });
  read.getCursor(db, { name: "telegram" });

  // Access: codes, guesses, roles, accounts that change hands, and an agent's questions.
  const code = { platform: "telegram", salt: "s", hash: "h", expiresAt: T0 + 9, everyMs: 5, maxPending: 3 };
  const letIn = write.requestPairing(db, {
    ...code,
    asker: { ...ANN, chatId: "eve", userId: "eve" },
    now: T0,
  });
  const linking = write.requestPairing(db, { ...code, person: "p_ann", now: T0 });
  if (letIn.state !== "asked" || linking.state !== "asked") throw new Error("there is no code");
  read.listPairings(db, { now: T0 });
  read.listPairings(db, { platform: "telegram", now: T0 });
  const { person: eve } = throwIfRefused(write.redeemPairing(db, { pairing: letIn.number, now: T0 }));
  const phone = { platform: "signal", userId: "+60", altId: "w" };
  write.redeemPairing(db, { pairing: linking.number, account: phone, now: T0 });
  write.countGuess(db, { name: "x", maxGuesses: 3, lockMs: 1, now: T0 });
  write.clearGuesses(db, { name: "x" });
  write.setRole(db, { person: eve, role: "member", now: T0 });
  read.listGrants(db);
  read.getAccount(db, phone);
  read.getAccount(db, { platform: "telegram", userId: "eve" });
  write.open(db, routing({ ...ANN, platform: "signal", chatId: "+60", userId: "+60" }));
  write.linkAccount(db, { account: phone, person: eve, now: T0 });
  write.linkAccount(db, { account: { platform: "telegram", userId: "fay" }, person: "p_ann", now: T0 });
  write.setTitle(db, { ...ask, title: "Fay" });
  write.open(db, routing({ ...ANN, chatId: "gus", userId: "gus" }, { person: "p_gus" }));
  write.linkAccount(db, { account: { platform: "telegram", userId: "gus" }, person: "p_ann", now: T0 });
  const acting = accepted(ANN, hello, { claim });
  if (acting.duplicate || acting.tooMany !== undefined || acting.turn === undefined)
    throw new Error("the turn did not begin");
  const { number: doing, fence: held } = acting.turn;
  const request = { title: "list", pattern: "ls" };
  const asked = throwIfRefused(
    write.createApproval(db, { turn: doing, fence: held, request, deadline: T0, now: T0 }),
  );
  const approval = asked.number;
  write.moveApprovalDeadline(db, { approval, deadline: T0 + 60_000 });
  write.answerApproval(db, { person: asked.person, approval, answer: "always", now: T0 });
  write.answerApproval(db, { person: asked.person, approval, answer: "once", now: T0 });
  const denied = throwIfRefused(
    write.createApproval(db, { turn: doing, fence: held, request, deadline: T0, now: T0 }),
  );
  write.answerApproval(db, { person: denied.person, approval: denied.number, answer: "never", now: T0 });
  read.listApprovals(db, { person: asked.person, conversation });
  read.getApproval(db, { asker: ann, approval });
  read.checkApprovalRules(db, { person: asked.person, session: asked.session, pattern: "ls" });
  write.retire(db, { runner: "r1" });
  const resumed = write.claim(db, { session: asked.session, runner: "r1", take: "one", now: T0 });
  const fenced = { turn: doing, fence: resumed?.fence ?? 0 };
  throwIfRefused(write.createApproval(db, { ...fenced, request, deadline: T0, now: T0 }));
  write.enqueue(db, { deliveries: [], runner: "r0", approval: approval, now: T0 });
  read.listApprovalRules(db, { person: asked.person });
  write.removeApprovalRule(db, { person: asked.person, pattern: "ls", session: asked.session, now: T0 });
  write.finish(db, { ...fenced, outcome: "done", messages: [], now: T0 });

  // Memory: changed, as it was, and told of what was said; and what a process tells its agent.
  for (const owner of ["p_gus in chat:x", "p_ann", "p_ann in chat:x"])
    write.changeMemory(db, { owner, change: { action: "add", text: owner }, now: T0 });
  write.restoreMemory(db, { owner: "p_ann", version: 1, now: T0 });
  read.getMemory(db, { owner: "p_ann" });
  read.listMemoryVersions(db, { owner: "p_ann" });
  const lively = write.open(db, routing({ ...ANN, chatId: "hal", userId: "hal" }, { person: "p_ann" }));
  const { id: told } = lively.session;
  write.append(db, { asker: everyone, session: told, messages: Array(4).fill(hello), now: T0 });
  write.requestFlush(db, { session: told, now: T0 });
  const flush = write.claimFlush(db, { runner: "r1", now: T0 });
  write.finishFlush(db, {
    flush: flush?.number ?? 0,
    runner: "r1",
    changes: [],
    usage: { inputTokens: 1 },
    now: T0,
  });
  for (const name of ["proc_8", "proc_9"]) {
    const watch = { mode: "all", patterns: [], wakes: true } as const;
    const program = { id: name, command: "make", cwd: "/", background: true, pty: false, watch };
    const { number } = lively.conversation;
    write.beginProcess(db, {
      ...{ process: program, session: told, conversation: number, target: ANN, maxRunning: 9, now: T0 },
    });
    write.endProcess(db, { id: name, exit: { code: 0 }, now: T0 });
    const woken = write.wakeAgent(db, { process: name, message: hello, claim, now: T0 });
    if (woken.state !== "woken") throw new Error("the process is not told of");
  }

  // Rounds: what fell silent, what may go, who holds what.
  for (const { conversation: silent } of read.listIdle(db, { before: T0 + 99, limit: 9 }))
    write.expireConversation(db, {
      conversation: silent.number,
      reset: { idleBefore: T0 + 99 },
      now: T0 + 99,
    });
  write.clampActivity(db, { now: T0 + 99 });
  write.setHomeChannel(db, { home: { platform: "telegram", chatId: "ann", name: "Ann" }, now: T0 });
  read.listHomeChannels(db);
  write.removeHomeChannel(db, { platform: "telegram" });
  read.listLeases(db, { now: T0 });
  for (const asker of [ann, inChat, everyone]) {
    read.getInsights(db, { asker, since: T0, platform: "telegram" });
    read.getInsights(db, { asker, since: T0 });
  }
  read.listUsageEntries(db, ask);
  write.purgeFinished(db, { before: T0, limit: 3, now: T0 });

  // Removal: with a fork that shows a part, then the fork, then what has ended.
  write.remove(db, ask);
  write.remove(db, { ...ask, session: copy.id });
  write.prune(db, { asker: ann, before: T0 + 99, dryRun: false, now: T0 });

  // A person, also among others: told of, and erased.
  const shared = {
    ...routing(group, { scope: { groupsPerUser: false, threadsPerUser: false } }),
    messageId: "shared",
  };
  const spoken = write.accept(db, {
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
  write.finish(db, {
    turn: number,
    fence,
    outcome: "done",
    messages,
    deliveries: [{ target: group, parts: [] }],
    now: T0,
  });
  read.readPersonData(db, { platform: "telegram", account: "ann" });
  read.readPersonData(db, { person: "p_ann" });
  for (let step: ErasureProgress = { done: false }; !step.done; )
    step = throwIfRefused(write.erasePerson(db, { person: "p_ann", limit: 1, now: T0, ...step }));
}
