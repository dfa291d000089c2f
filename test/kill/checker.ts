import { rmSync } from "node:fs";
import Database from "better-sqlite3";
import { look } from "../support/database.ts";
import type { Operation, OperationName } from "./journal.ts";

/** The differences between a file and a journal, one sentence each. */
export interface Findings {
  /** Acknowledged, but not stored. */
  readonly lost: string[];
  /** Stored more often than it was done. */
  readonly doubled: string[];
  /** Stored in part, or against a rule of the schema. */
  readonly broken: string[];
}

interface SessionRow {
  readonly n: number;
  readonly id: string;
  readonly title: string | null;
  readonly input_tokens: number;
  readonly next_seq: number;
  readonly version: number;
  readonly removed_at: number | null;
}

interface Said {
  readonly session: number;
  readonly seq: number;
  readonly place: number;
}

const SEQS = 2 ** 24;
const RESHAPES: readonly OperationName[] = ["undo", "redo", "rewrite", "compress"];

/**
 * Compares a database with the journal of its writers, only by SQL: acknowledged operations are stored
 * completely, operations in progress completely or not at all, and the rows agree with each other.
 */
export function check(file: string, journal: readonly Operation[], atRest = false): Findings {
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  look(file, (db) => {
    checkFile(db, findings);
    checkRows(db, findings, atRest);
    checkOperations(db, journal, findings);
  });
  return findings;
}

function checkFile(db: Database.Database, { broken }: Findings): void {
  for (const line of db.prepare("pragma integrity_check").pluck().all()) {
    if (line !== "ok") broken.push(`integrity_check: ${line}`);
  }
  for (const row of db.pragma("foreign_key_check") as unknown[]) {
    broken.push(`foreign_key_check: ${JSON.stringify(row)}`);
  }
}

/** Throws if the index is incomplete. Its check is a writing statement, so it runs on a copy. */
export function checkIndex(file: string): void {
  const copy = `${file}.copy`;
  try {
    look(file, (db) => db.prepare("vacuum into ?").run(copy));
    const db = new Database(copy);
    try {
      db.exec("insert into words(words) values ('integrity-check')");
    } finally {
      db.close();
    }
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(copy + suffix, { force: true });
  }
}

/** Rules between rows that hold for every writer and every kill. */
function checkRows(db: Database.Database, { broken }: Findings, atRest: boolean): void {
  const none = (rule: string, sql: string): void => {
    const rows = db.prepare(sql).all();
    if (rows.length > 0) broken.push(`${rule}: ${rows.length}, such as ${JSON.stringify(rows[0])}`);
  };
  none(
    "a session's count is not its messages",
    `select s.id, s.next_seq, count(m.id) as found from sessions s
     left join messages m on m.id between s.n * ${SEQS} + 1 and s.n * ${SEQS} + ${SEQS - 1}
     where s.removed_at is null group by s.n having count(m.id) <> s.next_seq - 1
     or coalesce(max(m.id), s.n * ${SEQS}) <> s.n * ${SEQS} + s.next_seq - 1`,
  );
  none(
    "human_count is not the number of human messages",
    `select s.id from sessions s where s.removed_at is null and s.human_count <> (select count(*) from messages m
     where m.role = 0 and not coalesce(json_extract(m.meta, '$.origin.proactive'), 0) and m.id between s.n * ${SEQS} + 1 and s.n * ${SEQS} + ${SEQS - 1})`,
  );
  none(
    "a message belongs to no session",
    `select id from messages where not exists (select 1 from sessions s where s.n = messages.id / ${SEQS})`,
  );
  none(
    "a version is not kept as a view",
    `select id, version from sessions s where removed_at is null and version > 0
     and not exists (select 1 from views v where v.session = s.n and v.version = s.version)`,
  );
  none(
    "the last piece of a view is not open at the session's own end",
    `select p.* from pieces p where p.position = (select max(position) from pieces q
     where q.session = p.session and q.version = p.version) and (p.to_seq is not null or p.piece_session <> p.session)`,
  );
  none(
    "a piece shows what is not there",
    `select p.* from pieces p where p.to_seq >= p.from_seq and (select count(*) from messages m
     where m.id between p.piece_session * ${SEQS} + p.from_seq and p.piece_session * ${SEQS} + p.to_seq)
     <> p.to_seq - p.from_seq + 1`,
  );
  none(
    "a lease without a running turn",
    `select id from sessions s where lease_holder is not null
     and not exists (select 1 from turns t where t.session = s.n and t.state = 'running')`,
  );
  none(
    "a running turn without a lease or input",
    `select t.n from turns t join sessions s on s.n = t.session where t.state = 'running' and (s.lease_holder is null
     or s.fence <> t.fence or not exists (select 1 from inbox i where i.turn = t.n and i.state = 1))`,
  );
  none(
    "an input that a turn has taken but that is not in its session",
    `select i.n from inbox i join turns t on t.n = i.turn join sessions s on s.n = t.session
     where s.removed_at is null and not exists (select 1 from messages m where m.id = t.session * ${SEQS} + i.seq)`,
  );
  none("an input that waits without its text", "select n from inbox where state = 0 and message is null");
  none(
    "a text that counts as indexed but is not",
    `select m.id from messages m join sessions s on s.n = m.id / ${SEQS}
     where m.role in (0, 1) and m.id % ${SEQS} <= s.indexed_seq and m.text <> ''
     and not exists (select 1 from words_docsize d where d.id = m.id)`,
  );
  none(
    "an indexed text that is not there, or does not count as indexed",
    `select d.id from words_docsize d left join messages m on m.id = d.id left join sessions s on s.n = d.id / ${SEQS}
     where m.id is null or s.n is null or d.id % ${SEQS} > s.indexed_seq`,
  );
  db.exec("create virtual table temp.found using fts5vocab(main, words, instance)");
  none(
    "words are found in a message that is not there",
    "select distinct doc from temp.found where not exists (select 1 from messages m where m.id = doc)",
  );
  if (!atRest) return;
  none("a turn still runs at the end", "select n from turns where state = 'running'");
  none("an input still waits at the end", "select n from inbox where state = 0");
}

function checkOperations(db: Database.Database, journal: readonly Operation[], findings: Findings): void {
  const { lost, doubled, broken } = findings;
  const live = new Map<string, SessionRow>();
  for (const row of db.prepare("select * from sessions where removed_at is null").all() as SessionRow[]) {
    live.set(row.id, row);
  }
  const said = readMessages(db);
  const removals = new Set(
    journal
      .filter(({ name, refused }) => name === "remove" && refused === undefined)
      .map((one) => one.session),
  );
  const count = (sql: string, ...values: unknown[]): number =>
    Number(
      db
        .prepare(sql)
        .pluck()
        .get(...values) ?? 0,
    );

  for (const one of journal) {
    const { key, name, result, refused } = one;
    const acknowledged = result !== undefined;
    if (refused === "disk_full") checkAbsent(db, one, said, live, removals, findings);
    if (refused !== undefined) continue;
    const what = `${name} ${key}${acknowledged ? "" : " (in flight)"}`;
    const made = name === "open" || name === "create" || name === "fork";
    const id = made ? result?.session : one.session;
    const session = id === undefined ? undefined : live.get(id);
    const messages = said.get(key) ?? [];

    if (messages.length > one.count)
      doubled.push(`${what}: ${messages.length} messages instead of ${one.count}`);
    if (name === "remove") {
      if (acknowledged && session !== undefined) lost.push(`${what}: ${id} is still there`);
      continue;
    }
    if (name === "open") {
      const chats = count("select count(*) from conversations where chat_id like ?", `w%-${key}`);
      if (chats > 1) doubled.push(`${what}: ${chats} conversations`);
      if (acknowledged && session !== undefined && chats === 0) lost.push(`${what}: no conversation`);
    }
    if (session === undefined) {
      // Deleted with its session, if a removal had started; messages that a fork shows may remain.
      if (id !== undefined && acknowledged && !removals.has(id)) lost.push(`${what}: ${id} is gone`);
      continue;
    }
    const n = session.n;

    // Messages: all of them, consecutive and in order; or none, for an operation in progress.
    if (messages.length !== one.count) {
      if (acknowledged) lost.push(`${what}: ${messages.length} of ${one.count} messages`);
      else if (messages.length > 0) broken.push(`${what}: ${messages.length} of ${one.count} messages`);
    } else if (
      messages.some(
        (m, at) => m.session !== n || m.place !== at + 1 || m.seq !== (messages[0]?.seq ?? 0) + at,
      )
    ) {
      broken.push(`${what}: its messages are not one run of its session`);
    }
    if (result?.seqs !== undefined && result.seqs.join() !== messages.map(({ seq }) => seq).join()) {
      broken.push(
        `${what}: the seqs are ${messages.map(({ seq }) => seq).join()}, not ${result.seqs.join()}`,
      );
    }
    const whole = acknowledged || (one.count > 0 && messages.length === one.count);

    if (name === "accept") {
      const rows = count("select count(*) from inbox where message_id = ?", key);
      if (rows > 1) doubled.push(`${what}: ${rows} inbox rows`);
      if (rows !== (whole ? 1 : 0)) broken.push(`${what}: ${messages.length} messages, ${rows} inbox rows`);
    }
    if (name === "finish") {
      const deliveries = count(
        "select count(*) from deliveries where session = ? and parts like ?",
        n,
        `%[${key}]%`,
      );
      if (deliveries > 1) doubled.push(`${what}: ${deliveries} deliveries`);
      if (deliveries !== (whole ? 1 : 0))
        broken.push(`${what}: ${messages.length} messages, ${deliveries} deliveries`);
      const open = count(
        "select (select count(*) from turns where n = ? and state <> 'done') + (select count(*) from inbox where turn = ? and state <> 2)",
        one.turn,
        one.turn,
      );
      if (whole && open > 0) broken.push(`${what}: its turn or its input is not done`);
    }
    if (name === "hold" && acknowledged) {
      if (count("select count(*) from holds where session = ? and name = ?", n, `[${key}]`) !== 1)
        lost.push(`${what}: no such hold`);
    }
    if (result?.version !== undefined) {
      const kind = db
        .prepare("select kind from views where session = ? and version = ?")
        .pluck()
        .get(n, result.version);
      if (kind !== name) lost.push(`${what}: version ${result.version} is ${kind}`);
    }
    if (name === "fork" && acknowledged) {
      if (count("select count(*) from views where session = ? and version = 1 and kind = 'fork'", n) !== 1)
        lost.push(`${what}: the fork has no view`);
    }
  }
  const bySession = Map.groupBy(
    journal.filter((one) => one.refused === undefined),
    (one) => one.session ?? "",
  );
  const forks = journal.filter(({ name }) => name === "fork");
  for (const row of live.values()) {
    // A fork of a titled session has a title from its start.
    const isFork = forks.some(({ key }) => row.id.endsWith(`-${key}`));
    checkSession(db, row, bySession.get(row.id) ?? [], isFork, said, findings);
  }
}

/** A refused operation stored nothing. `checkSession` checks counters and versions. */
function checkAbsent(
  db: Database.Database,
  { key, name, session }: Operation,
  said: ReadonlyMap<string, readonly Said[]>,
  live: ReadonlyMap<string, SessionRow>,
  removals: ReadonlySet<string | undefined>,
  { lost, broken }: Findings,
): void {
  const what = `${name} ${key} (refused)`;
  const messages = said.get(key)?.length ?? 0;
  if (messages > 0) broken.push(`${what}: ${messages} messages are there`);
  const traces: Partial<Record<OperationName, readonly [sql: string, value: string]>> = {
    accept: ["select 1 from inbox where message_id = ?", key],
    open: ["select 1 from conversations where chat_id like ?", `w%-${key}`],
    create: ["select 1 from sessions where id like ?", `w%-${key}`],
    fork: ["select 1 from sessions where id like ?", `w%-${key}`],
    hold: ["select 1 from holds where name = ?", `[${key}]`],
    title: ["select 1 from sessions where title = ?", `[${key}]`],
    finish: ["select 1 from deliveries where parts like ?", `%[${key}]%`],
  };
  const [sql, value] = traces[name] ?? [];
  if (sql !== undefined && db.prepare(sql).get(value) !== undefined) {
    broken.push(`${what}: it has left something behind`);
  }
  if (name === "remove" && session !== undefined && !live.has(session) && !removals.has(session)) {
    lost.push(`${what}: ${session} is gone`);
  }
}

/** Checks that need all operations of a session: its title, its tokens, the number of its versions. */
function checkSession(
  db: Database.Database,
  row: SessionRow,
  own: readonly Operation[],
  isFork: boolean,
  said: ReadonlyMap<string, readonly Said[]>,
  { lost, doubled, broken }: Findings,
): void {
  const { id } = row;
  const counted = own.filter(({ name }) => name === "usage" || name === "finish");
  const sure = counted.filter((one) => one.result !== undefined || said.has(one.key)).length;
  const most = counted.length;
  if (row.input_tokens < sure) lost.push(`usage of ${id}: ${row.input_tokens} instead of ${sure}`);
  if (row.input_tokens > most) doubled.push(`usage of ${id}: ${row.input_tokens} instead of at most ${most}`);

  const titles = own.filter(({ name }) => name === "title");
  const last = titles.findLastIndex((one) => one.result !== undefined);
  const possible = titles.slice(Math.max(0, last)).map(({ key }) => `[${key}]`);
  if (last >= 0 && !possible.includes(row.title ?? ""))
    lost.push(`title of ${id}: ${row.title}, not ${possible}`);
  if (titles.length === 0 && row.title !== null && !isFork) {
    broken.push(`title of ${id}: ${row.title}, which nobody gave`);
  }

  for (const kind of RESHAPES) {
    const all = own.filter(({ name }) => name === kind);
    const done = all.filter((one) => one.result !== undefined || said.has(one.key)).length;
    const found = Number(
      db.prepare("select count(*) from views where session = ? and kind = ?").pluck().get(row.n, kind),
    );
    const certain = kind === "rewrite" || kind === "compress";
    if (found < done) lost.push(`${kind} of ${id}: ${found} versions instead of ${done}`);
    if (found > (certain ? done : all.length))
      doubled.push(`${kind} of ${id}: ${found} versions for ${all.length}`);
  }
}

/** The keys of all operations with a stored message. */
export function keysIn(file: string): ReadonlySet<string> {
  return look(file, (db) => new Set(readMessages(db).keys()));
}

/** Every message with a key, by key, in order. */
function readMessages(db: Database.Database): Map<string, Said[]> {
  const said = new Map<string, Said[]>();
  const rows = db.prepare("select id, text from messages where text like '[%' order by id").raw().all();
  for (const [id, text] of rows as [number, string][]) {
    const [, key, place] = /^\[(\d+-\d+)\] (\d+)\//.exec(text) ?? [];
    if (key === undefined) continue;
    const list = said.get(key) ?? [];
    list.push({ session: Math.floor(id / SEQS), seq: id % SEQS, place: Number(place) });
    said.set(key, list);
  }
  return said;
}
