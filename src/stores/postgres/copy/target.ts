import type { CopiedTable } from "../../copy/copied-tables.ts";
import type { CopyRow, CopyState, CopyTarget } from "../../copy/copy-end.ts";
import { createRefusedRowError, createTakenOverCopyError } from "../../copy/copy-errors.ts";
import { randomHex } from "../../sql/random-hex.ts";
import type { SearchIndex } from "../../sql-async/generated/db.ts";
import { indexMessages } from "../../sql-async/generated/search.ts";
import { migrateSchema } from "../migrate.ts";
import type { PostgresOptions } from "../options.ts";
import { NEWEST_VERSION, UNFINISHED_COPY_VERSION } from "../schema.ts";
import { postgresIndex } from "../search-index.ts";
import { getErrorCode, toPostgresStoreError } from "../store-errors.ts";
import { buildTsvector } from "../tsquery.ts";
import { encodeValue } from "../values.ts";
import {
  type CopyClient,
  createPostgresRows,
  findSequence,
  openCopyClient,
  readColumnTypes,
} from "./client.ts";

const INDEX_CHUNK = 1024;
const STATE_TABLE = "store_copy";
/** Of errors that the values of a row cause: a constraint, a value that is too large. */
const REFUSED_CODES = /^(?:22|23|54)/;

/** Opens a schema to copy into it; creates it if it does not exist. Nothing else is changed before `begin`. */
export async function openPostgresTarget(options: PostgresOptions): Promise<CopyTarget> {
  const client = await openCopyClient(options);
  try {
    await migrateSchema(client.raw, client.schema, client.database, true);
    return createTarget(client);
  } catch (error) {
    await client.close();
    throw toPostgresStoreError(error, client.database);
  }
}

function createTarget(client: CopyClient): CopyTarget {
  const { qualify, query } = client;
  const rows = createPostgresRows(client);
  const run = randomHex(8);
  const stateTable = qualify(STATE_TABLE);
  const write = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await query("begin");
    try {
      const value = await work();
      await query("commit");
      return value;
    } catch (error) {
      await client.raw.query("rollback").catch(() => {}); // the first error tells more
      throw error;
    }
  };
  const saveState = async (state: CopyState): Promise<void> => {
    const text = `update ${stateTable} set state = $1 where run = $2`;
    const { rowCount } = await query({ text, values: [encodeValue(JSON.stringify(state)), run] });
    if (rowCount === 0) throw createTakenOverCopyError(rows.name);
  };
  const setVersion = (version: number): Promise<unknown> =>
    query(`update ${qualify("schema_version")} set version = ${version}`);
  const insert = createInserter(client);
  return {
    ...rows,
    async readState() {
      const found = await query({
        text: "select to_regclass($1) is not null as found",
        values: [stateTable],
      });
      if ((found.rows[0] as { found: number }).found === 0) return undefined;
      const stored = await query(`select state from ${stateTable}`);
      const [first] = stored.rows as { state: string }[];
      return first && (JSON.parse(first.state) as CopyState);
    },
    begin: (state, emptied) =>
      write(async () => {
        await setVersion(UNFINISHED_COPY_VERSION);
        for (const { name } of emptied.toReversed()) await query(`delete from ${qualify(name)}`);
        await query(`delete from ${qualify("words")}`);
        await query(`create table if not exists ${stateTable} (run text not null, state text not null)`);
        await query(`delete from ${stateTable}`);
        const text = `insert into ${stateTable} (run, state) values ($1, $2)`;
        await query({ text, values: [run, encodeValue(JSON.stringify(state))] });
      }),
    takeOver: () =>
      write(async () => {
        await query({ text: `update ${stateTable} set run = $1`, values: [run] });
      }),
    writeRows: (table, columns, batch, state) =>
      write(async () => {
        if (batch.length > 0) await insert(table, columns, batch);
        await saveState(state);
        // Without statistics, the next steps and the first queries would read whole tables.
        if (state.tables[table.name]?.isComplete) await query(`analyze ${qualify(table.name)}`);
      }),
    async writeSequence({ name }, last) {
      if (last === 0n) return;
      const sequence = await findSequence(client, name);
      await query({ text: "select setval($1::regclass, $2::bigint)", values: [sequence, `${last}`] });
    },
    indexMessages: () =>
      write(async () => {
        const words = collectWords();
        const added = await client.runWithDb((db) => indexMessages(db, INDEX_CHUNK), words.index);
        const text = `insert into ${qualify("words")} (message, length, terms)
select message, length, terms::tsvector from unnest($1::bigint[], $2::bigint[], $3::text[]) as w(message, length, terms)`;
        await query({ text, values: words.columns });
        const pending = await query(
          `select 1 from ${qualify("sessions")} where indexed_seq < next_seq - 1 limit 1`,
        );
        return { added, isComplete: pending.rows.length === 0 };
      }),
    async finish(state) {
      await query(`analyze ${qualify("words")}`);
      await write(async () => {
        await saveState(state);
        await setVersion(NEWEST_VERSION);
      });
    },
    close: () => client.close(),
  };
}

/** An index that only collects the words: one statement for all messages takes less time than one for each. */
function collectWords(): { readonly index: SearchIndex; readonly columns: readonly unknown[][] } {
  const [messages, lengths, terms]: [number[], number[], unknown[]] = [[], [], []];
  const index: SearchIndex = {
    ...postgresIndex,
    async addWords(_, message, text) {
      const list = text.split(" ");
      messages.push(message);
      lengths.push(list.length);
      terms.push(encodeValue(buildTsvector(list)));
    },
  };
  return { index, columns: [messages, lengths, terms] };
}

type InsertRows = (table: CopiedTable, columns: readonly string[], rows: readonly CopyRow[]) => Promise<void>;

/** One array per column: a statement has the same form for every number of rows. */
function createInserter(client: CopyClient): InsertRows {
  const statements = new Map<string, string>();
  return async (table, columns, rows) => {
    let text = statements.get(table.name);
    if (text === undefined) {
      const known = await readColumnTypes(client, table.name);
      const types = new Map(known.map(({ name, type }) => [name, type]));
      const names = columns.map((name) => `"${name}"`).join(", ");
      const arrays = columns.map((name, at) => `$${at + 1}::${types.get(name)}[]`).join(", ");
      text = `insert into ${client.qualify(table.name)} (${names}) select * from unnest(${arrays})`;
      statements.set(table.name, text);
    }
    const values = columns.map((_, at) => rows.map((row) => encodeValue(row[at])));
    try {
      await client.raw.query({ text, values });
    } catch (error) {
      if (REFUSED_CODES.test(getErrorCode(error))) throw createRefusedRowError(table.name, error);
      throw toPostgresStoreError(error, client.database);
    }
  };
}
