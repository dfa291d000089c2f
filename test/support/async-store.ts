import { execFileSync } from "node:child_process";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Store } from "../../src/ports/store.ts";
import type { Db, SearchIndex } from "../../src/stores/sql/db.ts";
import type { OperationKind } from "../../src/stores/sql/operations.ts";
import { openReader, openWriter, type SqliteDb } from "../../src/stores/sqlite/connection.ts";
import { createClosedError, toStoreError } from "../../src/stores/sqlite/store-errors.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/make-async.ts", import.meta.url));
const TWIN = new URL("../../src/stores/sql-async/generated/", import.meta.url);

type AsyncOperation = (db: AsyncDb, input: unknown) => Promise<unknown>;

/** The parts of the twin that this store uses. Not imported by name: the twin does not exist before it is generated. */
interface TwinOperations {
  readonly OPERATIONS: Record<string, Record<string, { readonly kind: OperationKind }>>;
  findOperation(name: string): { load(): Promise<AsyncOperation> };
  hasWritten(name: string, value: unknown): boolean;
}
interface TwinSearch {
  indexMessages(db: AsyncDb, limit: number): Promise<number>;
}

/** Runs the generator, once, if the sources have changed, and loads the twin. */
async function loadTwin(): Promise<TwinOperations & TwinSearch> {
  execFileSync(process.execPath, [SCRIPT], { stdio: ["ignore", "ignore", "inherit"] });
  const operations = (await import(new URL("operations.ts", TWIN).href)) as TwinOperations;
  const search = (await import(new URL("search.ts", TWIN).href)) as TwinSearch;
  return { ...operations, ...search };
}
let loading: ReturnType<typeof loadTwin> | undefined;

type Asynchronous<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Promise<Result>
    : Methods[Name];
};
type AsyncDb = Asynchronous<Omit<Db, "dialect" | "index" | "store">> &
  Pick<Db, "dialect" | "store"> & { readonly index: Asynchronous<SearchIndex> };

export interface AsyncStore extends Store {
  indexAll(): Promise<void>;
}

/**
 * A store on SQLite that runs the asynchronous twin of the operations, with pauses before all statements: a missing await
 * shows. Writes run one after the other in a transaction; reads run in a transaction of a second connection.
 */
export async function asyncSqliteStore(file: string): Promise<AsyncStore> {
  loading ??= loadTwin();
  const { OPERATIONS, findOperation, hasWritten, indexMessages } = await loading;
  const writer = openWriter({ file });
  writer.pragma("synchronous = OFF"); // no test here depends on the disk
  const reader = openReader(file);
  const runWrite = queueTransactions(writer, "begin immediate");
  const runRead = queueTransactions(reader, "begin");
  const listeners = new Set<() => void>();
  let isClosed = false;

  const call = (name: string, kind: OperationKind) => async (input: unknown) => {
    if (isClosed) throw createClosedError();
    const isRead = kind === "read" || kind === "readLong";
    try {
      const value = await (isRead ? runRead : runWrite)(async (db) => {
        const operation = await findOperation(name).load();
        return operation(db, input);
      });
      if (!isRead && hasWritten(name, value)) for (const listener of listeners) queueMicrotask(listener);
      return value;
    } catch (error) {
      throw toStoreError(error, file);
    }
  };
  const facets = Object.entries(OPERATIONS).map(([facet, operations]) => [
    facet,
    Object.fromEntries(Object.entries(operations).map(([name, { kind }]) => [name, call(name, kind)])),
  ]);
  return {
    ...(Object.fromEntries(facets) as Omit<Store, "onChange" | "close">),
    async indexAll() {
      while ((await runWrite((db) => indexMessages(db, 64))) === 64);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([runRead(async () => {}), runWrite(async () => {})]);
      reader.close();
      writer.close();
    },
  };
}

type RunTransaction = <Result>(run: (db: AsyncDb) => Promise<Result>) => Promise<Result>;

/** One transaction at a time on this connection, in the order of the calls. */
function queueTransactions(connection: SqliteDb, begin: string): RunTransaction {
  const db = wrapConnection(connection);
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(async () => {
      connection.exec(begin);
      try {
        const value = await run(db);
        connection.exec("commit");
        return value;
      } catch (error) {
        if (connection.inTransaction) connection.exec("rollback");
        throw error;
      }
    });
    last = result.catch(() => {});
    return result;
  };
}

function wrapConnection(connection: SqliteDb): AsyncDb {
  let statements = 0;
  /** Ends now in this turn of the event loop and now in a later one. */
  const pause = async (): Promise<void> => {
    statements += 1;
    if (statements % 3 === 0) await setImmediate();
  };
  const delay =
    <Values extends unknown[], Result>(run: (...values: Values) => Result) =>
    async (...values: Values): Promise<Result> => {
      await pause();
      return run(...values);
    };
  const { index } = connection;
  return {
    async get<Row>(...values: Parameters<Db["get"]>): Promise<Row | undefined> {
      await pause();
      return connection.get<Row>(...values);
    },
    async all<Row>(...values: Parameters<Db["all"]>): Promise<Row[]> {
      await pause();
      return connection.all<Row>(...values);
    },
    rows: delay(connection.rows),
    run: delay(connection.run),
    insert: delay(connection.insert),
    send: delay(connection.send),
    now: delay(connection.now),
    widenScope: delay(connection.widenScope),
    dialect: connection.dialect,
    store: connection.store,
    index: {
      findMatches: delay((_, ...rest) => index.findMatches(connection, ...rest)),
      addWords: delay((_, ...rest) => index.addWords(connection, ...rest)),
      removeWords: delay((_, ...rest) => index.removeWords(connection, ...rest)),
      removeAllWords: delay(() => index.removeAllWords(connection)),
    },
  };
}
