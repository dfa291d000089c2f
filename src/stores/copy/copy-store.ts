import { PostriderError } from "../../core/errors.ts";
import { COPIED_TABLES, type CopiedTable, TABLES_OF_PROCESSES } from "./copied-tables.ts";
import type { CopyEnd, CopyRow, CopySource, CopyState, CopyTarget } from "./copy-end.ts";
import { createStoreInUseError } from "./copy-errors.ts";
import { decodeKey, encodeKey } from "./key-text.ts";
import { buildKeyReader, readBatches } from "./read-batches.ts";
import { type CopyMismatch, verifyCopy } from "./verify-copy.ts";

export interface StoreCopyOptions {
  readonly source: CopySource;
  readonly target: CopyTarget;
  /** Empties an unfinished copy in the target first. */
  readonly restart: boolean;
  now(): number;
  onProgress?(step: CopyStep, done: number, all: number, table: string): void;
}

export type CopyStep = "copied" | "indexed" | "verified";

export interface StoreCopyResult {
  readonly from: string;
  readonly to: string;
  readonly sessions: number;
  readonly messages: number;
  readonly rows: number;
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
  /** `new`: all rows were copied now; `resumed`: some of them earlier; `finished`: all of them earlier. */
  readonly copy: "new" | "resumed" | "finished";
}

/**
 * Copies every row with its numbers, builds the search index of the target, and compares both. Only then can the target be
 * opened. After a crash, the same call continues with the first row that is not copied.
 */
export async function copyStore(options: StoreCopyOptions): Promise<StoreCopyResult> {
  const { source, target, now } = options;
  if (source.name === target.name)
    throw new PostriderError("invalid_input", "The source and the target are the same database.");
  for (const end of [source, target]) await assertUnused(end, now());
  const columns = await readColumns(source, target);
  const counts = await countTables(source);
  const { state, copy } = await prepareTarget(options);
  if (state.finishedAt === undefined) {
    await copyTables(options, state, columns, counts);
    for (const table of COPIED_TABLES)
      if (table.isNumbered) await target.writeSequence(table, await source.readSequence(table));
    await buildIndex(options, counts);
  }
  await assertEqual(options, state, columns, counts);
  if (state.finishedAt === undefined)
    await target.finish({ ...(await requireState(target)), finishedAt: now() });
  return {
    from: source.name,
    to: target.name,
    sessions: counts.get("sessions") ?? 0,
    messages: counts.get("messages") ?? 0,
    rows: sum(counts),
    tables: [...counts].map(([table, rows]) => ({ table, rows })),
    copy,
  };
}

async function assertUnused(end: CopyEnd, now: number): Promise<void> {
  const users = await end.listUsers(now);
  if (users.length > 0) throw createStoreInUseError(end.name, users);
}

type TableColumns = ReadonlyMap<string, readonly string[]>;
type TableCounts = ReadonlyMap<string, number>;

async function readColumns(source: CopyEnd, target: CopyEnd): Promise<TableColumns> {
  const columns = new Map<string, readonly string[]>();
  for (const table of COPIED_TABLES) {
    const [own, other] = [await source.listColumns(table), await target.listColumns(table)];
    if (own.toSorted().join() !== other.toSorted().join() || own.length === 0)
      throw new PostriderError(
        "internal",
        `The table ${table.name} has different columns in the source and the target. Update Postrider and try again.`,
        { details: { table: table.name } },
      );
    columns.set(table.name, own);
  }
  return columns;
}

async function countTables(end: CopyEnd): Promise<TableCounts> {
  const counts = new Map<string, number>();
  for (const table of COPIED_TABLES) counts.set(table.name, await end.countRows(table));
  return counts;
}

function sum(counts: TableCounts): number {
  return [...counts.values()].reduce((all, count) => all + count, 0);
}

interface PreparedTarget {
  readonly state: CopyState;
  readonly copy: StoreCopyResult["copy"];
}

/** Continues a copy of the same source; otherwise the target must be empty. */
async function prepareTarget(options: StoreCopyOptions): Promise<PreparedTarget> {
  const { source, target, restart, now } = options;
  const found = await target.readState();
  const fresh: CopyState = { source: source.name, startedAt: now(), tables: {} };
  if (found === undefined || found.finishedAt !== undefined) {
    if (found?.source === source.name) return { state: found, copy: "finished" };
    await assertEmpty(target);
    const left = COPIED_TABLES.filter(({ name }) => TABLES_OF_PROCESSES.includes(name));
    await target.begin(fresh, left);
    return { state: fresh, copy: "new" };
  }
  if (restart) {
    await target.begin(fresh, COPIED_TABLES);
    return { state: fresh, copy: "new" };
  }
  if (found.source !== source.name)
    throw new PostriderError(
      "file_exists",
      `${target.name} is an unfinished copy of ${found.source}. Name that source, or add --restart to empty the target first.`,
      { details: { database: target.name, source: found.source } },
    );
  await target.takeOver();
  return { state: found, copy: "resumed" };
}

async function assertEmpty(target: CopyTarget): Promise<void> {
  for (const table of COPIED_TABLES) {
    if (TABLES_OF_PROCESSES.includes(table.name) || (await target.countRows(table)) === 0) continue;
    throw new PostriderError(
      "file_exists",
      `${target.name} already contains data (table ${table.name}). Nothing was changed. Copy to an empty database, another file or another schema.`,
      { details: { database: target.name, table: table.name } },
    );
  }
}

async function copyTables(
  options: StoreCopyOptions,
  from: CopyState,
  columns: TableColumns,
  counts: TableCounts,
): Promise<void> {
  const { source, target } = options;
  let state = from;
  let done = Object.values(state.tables).reduce((all, { rows }) => all + rows, 0);
  const all = sum(counts);
  for (const table of COPIED_TABLES) {
    const before = state.tables[table.name];
    if (before?.isComplete) continue;
    const names = columns.get(table.name) ?? [];
    const getKey = buildKeyReader(table, names);
    const prepare = buildRowPreparer(table, names);
    let rows = before?.rows ?? 0;
    const record = (progress: CopyState["tables"][string]): CopyState => ({
      ...state,
      tables: { ...state.tables, [table.name]: progress },
    });
    const after = before?.after && decodeKey(before.after);
    for await (const batch of readBatches(source, table, names, after)) {
      rows += batch.length;
      done += batch.length;
      state = record({ rows, after: encodeKey(getKey(batch.at(-1) ?? [])) });
      await target.writeRows(table, names, batch.map(prepare), state);
      options.onProgress?.("copied", Math.min(done, all), all, table.name);
    }
    state = record({ rows, isComplete: true });
    await target.writeRows(table, names, [], state);
  }
}

/** Columns that the target computes start with 0. */
function buildRowPreparer(table: CopiedTable, columns: readonly string[]): (row: CopyRow) => CopyRow {
  const { derived } = table;
  if (derived === undefined) return (row) => row;
  const positions = new Set(derived.map((name) => columns.indexOf(name)));
  return (row) => row.map((value, position) => (positions.has(position) ? 0n : value));
}

async function buildIndex({ target, onProgress }: StoreCopyOptions, counts: TableCounts): Promise<void> {
  const all = counts.get("messages") ?? 0;
  for (let done = 0, isComplete = false; !isComplete; ) {
    onProgress?.("indexed", Math.min(done, all), all, "words");
    const step = await target.indexMessages();
    done += step.added;
    isComplete = step.isComplete;
  }
}

async function assertEqual(
  options: StoreCopyOptions,
  state: CopyState,
  columns: TableColumns,
  counts: TableCounts,
): Promise<void> {
  const { source, target } = options;
  const all = sum(counts);
  let done = 0;
  const mismatches = await verifyCopy({
    source,
    target,
    columns,
    counts,
    onProgress(rows, table) {
      done += rows;
      options.onProgress?.("verified", done, all, table);
    },
  });
  if (mismatches.length === 0) return;
  const started = new Date(state.startedAt).toISOString();
  if (state.finishedAt !== undefined)
    throw new PostriderError(
      "file_exists",
      `${target.name} contains a finished copy of ${source.name}, and one of them has changed since. Nothing was changed. Copy to an empty database.`,
      { details: { database: target.name, mismatches } },
    );
  throw new PostriderError(
    "incomplete_copy",
    `${target.name} is not equal to ${source.name}: ${describeMismatches(mismatches)}. If the source was used since the copy started (${started}), add --restart to copy it again.`,
    { details: { database: target.name, mismatches } },
  );
}

const MAX_NAMED = 5;

function describeMismatches(mismatches: readonly CopyMismatch[]): string {
  const named = mismatches.slice(0, MAX_NAMED).map(({ table, row, session, problem }) => {
    if (problem === "count") return `table ${table} has another number of rows`;
    const subject = session === undefined ? `row ${row} of ${table}` : `${table} of session ${session}`;
    return `${subject} ${problem === "different" ? "differs" : `is ${problem}`}`;
  });
  const more = mismatches.length - named.length;
  return `${named.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

async function requireState(target: CopyTarget): Promise<CopyState> {
  const state = await target.readState();
  if (state === undefined)
    throw new PostriderError("internal", `${target.name} has lost the state of its copy.`);
  return state;
}
