import type { Store } from "../../src/ports/store.ts";
import {
  findOperation,
  hasWritten,
  OPERATIONS,
  type StoreOperation,
} from "../../src/stores/sql/operations.ts";
import type { NamedTable, Scope } from "../../src/stores/sql/scope.ts";
import { indexMessages } from "../../src/stores/sql/search.ts";
import { openWriter, type SqliteDb } from "../../src/stores/sqlite/connection.ts";
import { createClosedError, toStoreError } from "../../src/stores/sqlite/store-errors.ts";

/** A changed row: its table, and its columns without texts. */
interface TouchedRow {
  readonly table: string;
  readonly change: "insert" | "update" | "delete";
  readonly row: Readonly<Record<string, string | number | null>>;
}

export interface ScopedStore extends Store {
  /** Indexes all pending messages. */
  index(): void;
}

/**
 * A store on one connection that records every row that a write changes, and rejects if one is outside the scope that the
 * operation declares. `onWrite` gets the name of every write that ran.
 */
export async function openScopedStore(file: string, onWrite: (name: string) => void): Promise<ScopedStore> {
  const db = openWriter({ file });
  recordChanges(db);
  const listeners = new Set<() => void>();
  const pending = new Set<Promise<unknown>>();
  let isClosed = false;

  function runWrite(name: string, operation: StoreOperation, input: unknown): unknown {
    const covered = resolveScopes(db, findOperation(name).scope(input));
    db.run("delete from touched");
    let isWidened = false;
    const widenScope = (): void => {
      isWidened = true;
    };
    const value = operation({ ...db, widenScope }, input);
    onWrite(name);
    const outside = isWidened ? undefined : listTouched(db).find((touched) => !isCovered(covered, touched));
    if (outside !== undefined)
      throw new Error(`${name} touches a row outside its scope: ${JSON.stringify(outside)}`);
    return value;
  }

  async function call(name: string, input: unknown): Promise<unknown> {
    const operation = await findOperation(name).load();
    if (findOperation(name).kind.startsWith("read")) return operation(db, input);
    db.exec("begin immediate");
    try {
      const value = runWrite(name, operation, input);
      db.exec("commit");
      if (hasWritten(name, value)) for (const listener of listeners) queueMicrotask(listener);
      return value;
    } catch (error) {
      if (db.inTransaction) db.exec("rollback");
      throw toStoreError(error, file);
    }
  }

  function track(name: string, input: unknown): Promise<unknown> {
    if (isClosed) return Promise.reject(createClosedError());
    const answer = call(name, input).finally(() => pending.delete(answer));
    pending.add(answer);
    return answer;
  }

  const facets = Object.entries(OPERATIONS).map(([facet, operations]) => [
    facet,
    Object.fromEntries(Object.keys(operations).map((name) => [name, (input: unknown) => track(name, input)])),
  ]);
  return {
    ...Object.fromEntries(facets),
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(pending);
      db.close();
    },
    index() {
      indexMessages(db, Number.MAX_SAFE_INTEGER);
    },
  } as ScopedStore;
}

/** Texts and bytes are not needed to find the scope of a row. */
const LEFT_OUT: ReadonlySet<string> = new Set(["text", "parts", "meta", "bytes", "utf16", "message", "said"]);

/** Records every changed row of every table in `touched`, which only this connection sees. */
function recordChanges(db: SqliteDb): void {
  db.exec("create temp table touched (n integer primary key, tbl text, change text, content text)");
  const tables = db.all<{ name: string }>(
    "select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%'",
  );
  for (const { name } of tables) {
    const columns = db
      .all<{ name: string }>("select name from pragma_table_info(?)", name)
      .filter((column) => !LEFT_OUT.has(column.name));
    for (const [change, rows] of [
      ["insert", ["new"]],
      ["update", ["old", "new"]],
      ["delete", ["old"]],
    ] as const) {
      const inserts = rows.map((row) => {
        const content = columns.map((column) => `'${column.name}', ${row}."${column.name}"`).join(", ");
        return `insert into touched (tbl, change, content) values ('${name}', '${change}', json_object(${content}));`;
      });
      db.exec(
        `create temp trigger touched_${name}_${change} after ${change} on main.${name} begin ${inserts.join(" ")} end`,
      );
    }
  }
}

function listTouched(db: SqliteDb): TouchedRow[] {
  return db
    .all<{ tbl: string; change: TouchedRow["change"]; content: string }>("select * from touched order by n")
    .map(({ tbl, change, content }) => ({ table: tbl, change, row: JSON.parse(content) }));
}

/** The rows that the scopes of a call contain, before it runs. Rows that it creates are added. */
interface CoveredRows {
  isEverything: boolean;
  readonly sessions: Set<number>;
  readonly conversations: Set<number>;
  readonly deliveries: Set<number>;
  readonly inbox: Set<number>;
  readonly turns: Set<number>;
  readonly processes: Set<number>;
  readonly chats: { readonly profile: string; readonly platform: string; readonly chatId: string }[];
  readonly accounts: Set<number>;
  readonly names: Map<NamedTable, Set<string>>;
  /** Flushes, which add a version to the memory of their session's owner. */
  readonly flushes: Set<number>;
}

function resolveScopes(db: SqliteDb, scopes: readonly Scope[]): CoveredRows {
  const covered: CoveredRows = {
    isEverything: false,
    sessions: new Set(),
    conversations: new Set(),
    deliveries: new Set(),
    inbox: new Set(),
    turns: new Set(),
    processes: new Set(),
    chats: [],
    accounts: new Set(),
    names: new Map(),
    flushes: new Set(),
  };
  for (const scope of scopes) resolveScope(db, covered, scope);
  return covered;
}

function resolveScope(db: SqliteDb, covered: CoveredRows, scope: Scope): void {
  const addSession = (n: number | null | undefined): void => {
    if (n === null || n === undefined) return;
    covered.sessions.add(n);
    for (const turn of db.all<{ n: number }>("select n from turns where session = ?", n))
      covered.turns.add(turn.n);
    for (const row of db.all<{ n: number }>("select n from conversations where session = ?", n))
      covered.conversations.add(row.n);
  };
  const addConversation = (n: number | null | undefined): void => {
    if (n === null || n === undefined) return;
    covered.conversations.add(n);
    addSession(db.get<{ session: number }>("select session from conversations where n = ?", n)?.session);
  };
  const addRowOf = (table: string, key: string, value: number | string): void => {
    const columns = table === "flushes" ? "n, session, null as conversation" : "n, session, conversation";
    const row = db.get<{ n: number; session: number; conversation: number | null }>(
      `select ${columns} from ${table} where ${key} = ?`,
      value,
    );
    addSession(row?.session);
    if (row?.conversation != null) covered.conversations.add(row.conversation);
    if (table === "processes" && row !== undefined) covered.processes.add(row.n);
  };
  switch (scope.kind) {
    case "database":
      covered.isEverything = true;
      return;
    case "chat": {
      const { profile, source } = scope;
      const { platform, chatId, threadId = "", userId, userIdAlt } = source;
      covered.chats.push({ profile, platform, chatId });
      for (const id of [chatId, userId, userIdAlt].filter((known) => known !== undefined))
        for (const { n } of db.all<{ n: number }>(
          "select n from accounts where platform = ? and ? in (user_id, alt_id)",
          platform,
          id,
        ))
          covered.accounts.add(n);
      for (const { n, account } of db.all<{ n: number; account: number }>(
        "select n, account from conversations where profile = ? and platform = ? and chat_id = ? and thread_id in ('', ?)",
        profile,
        platform,
        chatId,
        threadId,
      ))
        if (account <= 0 || covered.accounts.has(account)) addConversation(n);
      return;
    }
    case "conversation":
      addConversation(scope.number);
      return;
    case "session":
      addSession(db.get<{ n: number }>("select n from sessions where id = ?", scope.id)?.n);
      return;
    case "turn":
      addRowOf("turns", "n", scope.number);
      return;
    case "approval":
      addRowOf("approvals", "n", scope.number);
      return;
    case "flush":
      covered.flushes.add(scope.number);
      addRowOf("flushes", "n", scope.number);
      return;
    case "process":
      addRowOf("processes", "id", scope.id);
      return;
    case "delivery":
      covered.deliveries.add(scope.number);
      return;
    case "inbox":
      covered.inbox.add(scope.number);
      return;
    case "named":
      covered.names.set(scope.table, (covered.names.get(scope.table) ?? new Set()).add(scope.name));
      return;
    case "new":
      return;
  }
}

/** Whether a changed row belongs to the covered ones. A new session or conversation belongs to its call. */
function isCovered(covered: CoveredRows, { table, change, row }: TouchedRow): boolean {
  if (covered.isEverything) return true;
  const isNew = change === "insert";
  const hasName = (name: unknown): boolean =>
    covered.names.get(table as NamedTable)?.has(String(name)) === true;
  const inSession = (): boolean => covered.sessions.has(Number(row.session));
  switch (table) {
    case "sessions":
      if (isNew) covered.sessions.add(Number(row.n));
      return covered.sessions.has(Number(row.n));
    case "conversations":
      if (isNew && isInChat(covered, row)) covered.conversations.add(Number(row.n));
      return covered.conversations.has(Number(row.n));
    case "messages":
      return covered.sessions.has(Math.floor(Number(row.id) / 2 ** 24));
    case "inbox":
      return (
        covered.inbox.has(Number(row.n)) ||
        covered.conversations.has(Number(row.conversation)) ||
        // Its conversation may be merged into another since the turn claimed it.
        covered.turns.has(Number(row.turn)) ||
        isInChat(covered, row)
      );
    case "decisions":
      return covered.conversations.has(Number(row.conversation));
    case "deliveries":
      if (isNew && (row.session === null || inSession())) covered.deliveries.add(Number(row.n));
      return covered.deliveries.has(Number(row.n)) || (row.session !== null && inSession());
    case "processes":
      if (isNew && inSession()) covered.processes.add(Number(row.n));
      return covered.processes.has(Number(row.n)) || inSession();
    case "process_output":
      return covered.processes.has(Number(row.process));
    case "accounts":
      return isNew || covered.accounts.has(Number(row.n));
    case "people":
      return isNew || hasName(row.id);
    case "allowed":
      return covered.names.get("people")?.has(String(row.person)) === true || inSession();
    case "memories":
      return hasName(row.owner) || (covered.flushes.size > 0 && isNew);
    case "homes":
      return hasName(row.platform);
    case "runners":
      return hasName(row.id);
    case "cursors":
    case "guesses":
    case "leases":
      return hasName(row.name);
    case "profiles":
    case "blobs":
    case "blob_uses":
      return true; // by name or hash, the same for everybody
    default:
      return "session" in row && inSession();
  }
}

function isInChat({ chats }: CoveredRows, row: TouchedRow["row"]): boolean {
  return chats.some(
    ({ profile, platform, chatId }) =>
      row.profile === profile && row.platform === platform && row.chat_id === chatId,
  );
}
