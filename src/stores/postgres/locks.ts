import type { Scope } from "../sql/scope.ts";

/**
 * The locks of a write. Every write takes them in the same order, before it reads anything: the database, chats, sessions
 * by number, then single rows. All of them end with the transaction.
 */
export interface LockStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Statements for the table `conversations` and others; the parameters are `?`, as in all statements. */
export function buildLocks(schema: string, scopes: readonly Scope[], isWidened: boolean): LockStatement[] {
  if (isWidened || scopes.some(({ kind }) => kind === "database"))
    return [{ sql: lockDatabaseSql, values: [`${schema} database`] }];
  const shared = { sql: shareDatabaseSql, values: [`${schema} database`] };
  return [
    shared,
    ...lockAll(chatLockSql, scopes.flatMap(findChats), [`${schema} chat`]),
    ...lockAll(sessionLockSql, scopes.flatMap(findSessions), [`${schema} session`]),
    ...lockRows(schema, scopes),
  ];
}

/** Taken by a migration, and by a write without a scope: nobody else writes meanwhile. */
export const lockDatabaseSql = "select pg_advisory_xact_lock(hashtextextended(?, 0))";
export const shareDatabaseSql = "select pg_advisory_xact_lock_shared(hashtextextended(?, 0))";

/** A query with its values. */
interface Part {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** The rows are locked in the order of the inner query; a volatile function in the outer one runs after sorting. */
const chatLockSql = (parts: string): string => `
select pg_advisory_xact_lock(key) from (
  select distinct hashtextextended(concat_ws(chr(31), ?::text, profile, platform, chat_id), 0) as key
  from (${parts}) as chats order by 1) as ordered`;

const sessionLockSql = (parts: string): string => `
select pg_advisory_xact_lock(class, n::integer) from (
  select distinct hashtext(?) as class, n from (${parts}) as sessions where n is not null order by n) as ordered`;

function lockAll(
  build: (parts: string) => string,
  parts: readonly Part[],
  values: readonly unknown[],
): LockStatement[] {
  if (parts.length === 0) return [];
  return [
    {
      sql: build(parts.map(({ sql }) => sql).join(" union all ")),
      values: [...values, ...parts.flatMap((part) => part.values)],
    },
  ];
}

const CHAT_BY_CONVERSATION = "select profile, platform, chat_id from conversations where n =";

/** The chats of a scope. A conversation can point to another session only under the lock of its chat. */
function findChats(scope: Scope): Part[] {
  switch (scope.kind) {
    case "chat": {
      const { profile, source } = scope;
      const sql = "select ?::text as profile, ?::text as platform, ?::text as chat_id";
      return [{ sql, values: [profile, source.platform, source.chatId] }];
    }
    case "conversation":
      return [{ sql: `${CHAT_BY_CONVERSATION} ?`, values: [scope.number] }];
    case "turn":
    case "approval":
      return [
        { sql: `${CHAT_BY_CONVERSATION} (${selectRow(scope.kind, "conversation")})`, values: [scope.number] },
      ];
    case "process":
      return [
        { sql: `${CHAT_BY_CONVERSATION} (${selectRow("process", "conversation")})`, values: [scope.id] },
      ];
    default:
      return [];
  }
}

/** The sessions of a scope, by number. */
function findSessions(scope: Scope): Part[] {
  switch (scope.kind) {
    case "chat": {
      const { profile, source } = scope;
      const { platform, chatId, threadId, userId, userIdAlt } = source;
      return [
        {
          sql: sessionsInChatSql,
          values: [profile, platform, chatId, threadId ?? "", platform, userId, platform, userIdAlt],
        },
      ];
    }
    case "conversation":
      return [{ sql: "select session as n from conversations where n = ?", values: [scope.number] }];
    case "session":
      return [{ sql: "select n from sessions where id = ?", values: [scope.id] }];
    case "turn":
    case "approval":
    case "flush":
      return [{ sql: selectRow(scope.kind, "session as n"), values: [scope.number] }];
    case "process":
      return [{ sql: selectRow(scope.kind, "session as n"), values: [scope.id] }];
    default:
      return [];
  }
}

/**
 * Of the conversations that a message of this sender can reach: shared ones (0), those of anonymous senders (-1) and the
 * sender's own, in the chat and in the thread. Not of all in the chat: a group may have thousands. Scalar subqueries,
 * because the server plans them once; semijoins it plans again for each message, which takes longer than the rest.
 */
const sessionsInChatSql = `
select session as n from conversations where profile = ? and platform = ? and chat_id = ? and thread_id in ('', ?)
  and account in (0, -1, (select n from accounts where platform = ? and user_id = ?),
    (select n from accounts where platform = ? and alt_id = ?))`;

const ROWS = {
  turn: "from turns where n = ?",
  approval: "from approvals where n = ?",
  flush: "from flushes where n = ?",
  process: "from processes where id = ?",
} as const;

function selectRow(kind: keyof typeof ROWS, columns: string): string {
  return `select ${columns} ${ROWS[kind]}`;
}

/** Single rows, by their names in ascending order. */
function lockRows(schema: string, scopes: readonly Scope[]): LockStatement[] {
  const names = scopes.flatMap((scope) => {
    switch (scope.kind) {
      case "delivery":
      case "inbox":
        return [`${scope.kind} ${scope.number}`];
      case "named":
        return [`${scope.table} ${scope.name}`];
      default:
        return [];
    }
  });
  const memories = scopes.flatMap((scope): LockStatement[] =>
    scope.kind === "flush"
      ? [{ sql: flushMemoryLockSql, values: [`${schema} memories `, scope.number] }]
      : [],
  );
  const rows = [...new Set(names)]
    .sort()
    .map((name) => ({ sql: lockDatabaseSql, values: [`${schema} ${name}`] }));
  return [...memories, ...rows];
}

/** A flush changes the memory of its session: `getMemoryOwner` in SQL. */
const flushMemoryLockSql = `
select pg_advisory_xact_lock(hashtextextended(
  ? || case when s.audience <> s.owner then s.owner || ' in ' || s.audience else s.owner end, 0))
from flushes f join sessions s on s.n = f.session where f.n = ?`;
