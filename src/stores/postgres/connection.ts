import type { Statement } from "../sql/db.ts";
import type { Db, SearchIndex } from "../sql-async/generated/db.ts";
import { postgresDialect } from "./dialect.ts";
import type { PgClient, PgResult } from "./driver.ts";
import type { PreparedStatement, StatementCache } from "./statements.ts";
import { getErrorCode } from "./store-errors.ts";
import { encodeValue } from "./values.ts";

/** The statements of one transaction. All of them are sent at once and answered in order. */
export interface StatementStream {
  /** Waits for the result. */
  ask(statement: PreparedStatement, values: readonly unknown[], rowMode?: "array"): Promise<PgResult>;
  /** Does not wait. A failure shows with the next answer. */
  send(statement: PreparedStatement | string, values?: readonly unknown[]): void;
  /** Rejects with the first failure, when all are answered. */
  drain(): Promise<void>;
}

const TRANSACTION_ABORTED = "25P02";

/**
 * Returns a function that holds back what this connection writes until nothing more can be sent without an answer. One
 * write to the socket for each statement would take more time than the rest of the transaction.
 */
export function createWriteBatcher({ connection }: Pick<PgClient, "connection">): () => void {
  const stream = connection?.stream;
  let isHeld = false;
  const release = (): void => {
    isHeld = false;
    stream?.uncork?.();
  };
  return () => {
    if (isHeld) return;
    isHeld = true;
    stream?.cork?.();
    // Runs after all pending promises.
    process.nextTick(release);
  };
}

export function createStatementStream(client: PgClient): StatementStream {
  const sent: Promise<unknown>[] = [];
  let failure: { readonly error: unknown } | undefined;
  const batchWrites = createWriteBatcher(client);
  const query = (statement: Parameters<PgClient["query"]>[0]): Promise<PgResult> => {
    batchWrites();
    return client.query(statement);
  };
  const track = (answer: Promise<PgResult>): Promise<PgResult> =>
    answer.catch((error: unknown) => {
      // Every statement after a failed one fails, too; only the first error tells why.
      if (failure === undefined || getErrorCode(error) !== TRANSACTION_ABORTED) failure ??= { error };
      throw failure.error;
    });
  return {
    ask: ({ text, name }, values, rowMode) =>
      track(query({ text, name, values: values.map(encodeValue), ...(rowMode && { rowMode }) })),
    send(statement, values = []) {
      const answer = track(
        query(
          typeof statement === "string"
            ? statement
            : { text: statement.text, name: statement.name, values: values.map(encodeValue) },
        ),
      );
      answer.catch(() => {}); // drain() reports it
      sent.push(answer);
    },
    async drain() {
      await Promise.all(sent);
    },
  };
}

export interface DbOptions {
  readonly stream: StatementStream;
  readonly statements: StatementCache;
  readonly index: SearchIndex;
  /** The same for all connections of a store. */
  readonly store: object;
  now(machineNow: number): Promise<number>;
  widenScope(): Promise<void>;
}

/** A transaction, as the operations use it. */
export function createDb({ stream, statements, index, store, now, widenScope }: DbOptions): Db {
  const ask = async (statement: Statement, values: readonly unknown[], rowMode?: "array") =>
    stream.ask(statements.prepare(statement), values, rowMode);
  return {
    async get<Row>(statement: Statement, ...values: readonly unknown[]) {
      return (await ask(statement, values)).rows[0] as Row | undefined;
    },
    async all<Row>(statement: Statement, ...values: readonly unknown[]) {
      return (await ask(statement, values)).rows as Row[];
    },
    async rows(statement, ...values) {
      return (await ask(statement, values, "array")).rows as unknown[][];
    },
    async run(statement, ...values) {
      return (await ask(statement, values)).rowCount ?? 0;
    },
    async insert(statement, ...values) {
      const { rows } = await stream.ask(statements.prepareInsert(statement), values);
      return (rows[0] as { n: number } | undefined)?.n ?? 0;
    },
    async send(statement, ...values) {
      stream.send(statements.prepare(statement), values);
    },
    now,
    widenScope,
    dialect: postgresDialect,
    index,
    store,
  };
}
