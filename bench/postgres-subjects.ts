import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import {
  buildRouting,
  DEFAULT_RESET,
  localRunner,
  systemClock,
  systemZone,
  throwIfRefused,
} from "../src/index.ts";
import { createWriteBatcher } from "../src/stores/postgres/connection.ts";
import type { PgClient } from "../src/stores/postgres/driver.ts";
import { buildLocks, type LockStatement } from "../src/stores/postgres/locks.ts";
import { createStatementCache } from "../src/stores/postgres/statements.ts";
import { openPostgresStore, type PostgresStore } from "../src/stores/postgres/store.ts";
import type { Statement } from "../src/stores/sql/db.ts";
import type { Scope } from "../src/stores/sql/scope.ts";
import { sharedConversationSql, touchConversationSql } from "../src/stores/sql/statements/conversations.ts";
import {
  finishInboxSql,
  inboxNumberByMessageIdSql,
  insertInboxSql,
  pendingInSessionSql,
} from "../src/stores/sql/statements/inbox.ts";
import { insertMessageSql } from "../src/stores/sql/statements/messages.ts";
import {
  growAndClaimSessionSql,
  growAndReleaseSessionSql,
  sessionByNumberSql,
} from "../src/stores/sql/statements/sessions.ts";
import { endTurnSql, insertTurnSql, turnToFinishSql } from "../src/stores/sql/statements/turns.ts";
import { type PostgresServer, removeServerFolder, startServer } from "../test/support/postgres-server.ts";
import { text } from "./subjects.ts";
import { findTemporaryFolder } from "./temporary-files.ts";

export const POOL_SIZE = 10;

/** A server of its own with fsync on, which ends with this process. */
export async function startBenchServer(): Promise<{ server: PostgresServer; end(): Promise<void> }> {
  const folder = mkdtempSync(join(findTemporaryFolder(), "postrider-bench-postgres-"));
  const server = await startServer({ folder, isDurable: true, owner: process.pid });
  return { server, end: () => removeServerFolder(folder) };
}

const settings = { zone: systemZone(), profile: "main", reset: DEFAULT_RESET, scope: {}, clock: systemClock };

export function chat(conversation: number) {
  return { platform: "local", chatId: String(conversation), chatType: "dm" };
}

export function routingOf(conversation: number) {
  return buildRouting(chat(conversation), settings);
}

/** Opens this many conversations, one by one: sessions and conversations get the same numbers. */
export async function seedConversations(store: PostgresStore, count: number, first = 0): Promise<void> {
  for (let at = 0; at < count; at++) await store.conversations.open(routingOf(first + at));
}

export interface PostgresSubject {
  readonly store: PostgresStore;
  readonly runner: string;
  turn(conversation: number, index: number): Promise<void>;
}

/** Postrider: a turn is accept (which claims) and finish. */
export async function postgresSubject(url: string, schema: string): Promise<PostgresSubject> {
  const store = await openPostgresStore({ url, schema, poolSize: POOL_SIZE });
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  const claim = { runner: runner.id, take: "one" } as const;
  return {
    store,
    runner: runner.id,
    async turn(conversation, index) {
      const accepted = await store.inbox.accept({
        ...routingOf(conversation),
        messageId: randomUUID(),
        message: { role: "user", parts: [{ type: "text", text: text(index) }] },
        claim,
      });
      if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
        throw new Error("the turn did not begin");
      const { number, fence } = accepted.turn;
      const messages = [{ role: "assistant", parts: [{ type: "text", text: text(index + 1) }] }] as const;
      throwIfRefused(
        await store.turns.finish({ turn: number, fence, outcome: "done", messages, now: Date.now() }),
      );
    },
  };
}

export interface BareLoop {
  turn(conversation: number, index: number): Promise<void>;
  end(): Promise<void>;
}

/** A transaction on the driver itself: `send` does not wait for the answer, `ask` does. */
interface BareTransaction {
  send(statement: Statement, ...values: readonly unknown[]): void;
  ask<Row>(statement: Statement, ...values: readonly unknown[]): Promise<Row>;
  insert(statement: Statement, ...values: readonly unknown[]): Promise<number>;
  commit(): Promise<void>;
}

function bareTransactions(url: string, schema: string) {
  const pool = new pg.Pool({ connectionString: url, max: POOL_SIZE, pipeline: true } as pg.PoolConfig);
  const statements = createStatementCache(schema, true);
  return {
    end: () => pool.end(),
    async begin(locks: readonly LockStatement[] = []): Promise<BareTransaction> {
      const client = await pool.connect();
      const sent: Promise<unknown>[] = [];
      const batchWrites = createWriteBatcher(client as unknown as PgClient);
      const query = (prepared: { text: string; name: string | undefined }, values: readonly unknown[]) => {
        batchWrites();
        return client.query({ ...prepared, values: [...values] } as pg.QueryConfig);
      };
      const transaction: BareTransaction = {
        send(statement, ...values) {
          sent.push(query(statements.prepare(statement), values));
        },
        async ask<Row>(statement: Statement, ...values: readonly unknown[]) {
          return (await query(statements.prepare(statement), values)).rows[0] as Row;
        },
        async insert(statement, ...values) {
          return Number((await query(statements.prepareInsert(statement), values)).rows[0].n);
        },
        async commit() {
          sent.push(client.query("commit"));
          await Promise.all(sent);
          client.release();
        },
      };
      batchWrites();
      sent.push(client.query("begin isolation level read committed read write"));
      for (const { sql, values } of locks) transaction.send(sql, ...values);
      return transaction;
    },
  };
}

const claimReturningSql: Statement = (dialect) => `
${typeof growAndClaimSessionSql === "string" ? growAndClaimSessionSql : growAndClaimSessionSql(dialect)} returning next_seq, fence`;
const releaseReturningSql: Statement = (dialect) => `
${typeof growAndReleaseSessionSql === "string" ? growAndReleaseSessionSql : growAndReleaseSessionSql(dialect)} returning next_seq`;
const SEQS_PER_SESSION = 16_777_216;

/**
 * The floor: the same rows in two transactions, pipelined like the store. It takes no locks, routes nothing, checks
 * nothing, notifies nobody, and knows its numbers beforehand.
 */
export function bareRows(url: string, schema: string): BareLoop {
  const { begin, end } = bareTransactions(url, schema);
  return {
    end,
    async turn(conversation, index) {
      const n = conversation + 1;
      const source = JSON.stringify(chat(conversation));
      const now = Date.now();
      const accept = await begin();
      const { next_seq, fence } = await accept.ask<{ next_seq: string; fence: string }>(
        claimReturningSql,
        ...[1, now, 1, 0, "r", source, null, n],
      );
      const seq = Number(next_seq) - 1;
      const turn = await accept.insert(insertTurnSql, n, n, "r", Number(fence), source, null, now, 0);
      accept.send(insertMessageSql, n * SEQS_PER_SESSION + seq, now, 0, text(index), null, null);
      accept.send(
        insertInboxSql,
        ...["main", "local", String(conversation), randomUUID(), n, now, 1, "r", null, null, turn, seq],
      );
      accept.send(touchConversationSql, now, n);
      await accept.commit();
      const finish = await begin();
      const grown = await finish.ask<{ next_seq: string }>(releaseReturningSql, 1, now, 0, 0, n);
      const id = n * SEQS_PER_SESSION + Number(grown.next_seq) - 1;
      finish.send(insertMessageSql, id, now, 1, text(index + 1), null, null);
      finish.send(finishInboxSql, turn);
      finish.send(endTurnSql, "done", now, turn);
      finish.send(touchConversationSql, now, n);
      await finish.commit();
    },
  };
}

const startedSql = `
select pg_current_xact_id()::text as xid, pg_backend_pid() as pid,
  (extract(epoch from clock_timestamp()) * 1000)::bigint as now`;

/** The store's own statements, in its order and pipelined like it: locks, reads and rows, without a notification. */
export function bareStatements(url: string, schema: string): BareLoop {
  const { begin, end } = bareTransactions(url, schema);
  const lock = (scope: Scope): LockStatement[] => buildLocks(schema, [scope], false);
  return {
    end,
    async turn(conversation, index) {
      const source = chat(conversation);
      const target = JSON.stringify(source);
      const messageId = randomUUID();
      const now = Date.now();
      const accept = await begin(lock({ kind: "chat", profile: "main", source }));
      accept.send(startedSql);
      await accept.ask(inboxNumberByMessageIdSql, "main", "local", source.chatId, messageId);
      const found = await accept.ask<{ n: string; session: string }>(
        sharedConversationSql,
        ...["main", "local", "dm", source.chatId, ""],
      );
      const [n, s] = [Number(found.n), Number(found.session)];
      const session = await accept.ask<{ next_seq: string; fence: string }>(sessionByNumberSql, s);
      await accept.ask(pendingInSessionSql, s);
      accept.send(touchConversationSql, now, n);
      const seq = Number(session.next_seq);
      const fence = Number(session.fence) + 1;
      const turn = await accept.insert(insertTurnSql, s, n, "r", fence, target, null, now, 0);
      accept.send(insertMessageSql, s * SEQS_PER_SESSION + seq, now, 0, text(index), null, null);
      await accept.insert(
        insertInboxSql,
        ...["main", "local", source.chatId, messageId, n, now, 1, "r", null, null, turn, seq],
      );
      accept.send(growAndClaimSessionSql, 1, now, 1, 0, "r", target, null, s);
      await accept.commit();
      const finish = await begin(lock({ kind: "turn", number: turn }));
      finish.send(startedSql);
      const row = await finish.ask<{ next_seq: string }>(turnToFinishSql, turn);
      const id = s * SEQS_PER_SESSION + Number(row.next_seq);
      finish.send(insertMessageSql, id, now, 1, text(index + 1), null, null);
      finish.send(growAndReleaseSessionSql, 1, now, 0, 0, s);
      finish.send(finishInboxSql, turn);
      finish.send(endTurnSql, "done", now, turn);
      finish.send(touchConversationSql, now, n);
      await finish.commit();
    },
  };
}
