import { COPIED_TABLES, type CopiedTable } from "./copied-tables.ts";
import type { CopyEnd, CopyRow } from "./copy-end.ts";
import { formatKey } from "./key-text.ts";
import { buildKeyReader, readBatches } from "./read-batches.ts";
import { createRowHasher } from "./row-digest.ts";

/** A difference between the source and the target. */
export interface CopyMismatch {
  readonly table: string;
  /** The key of the row; for tables with the data of a session, the id of the session. */
  readonly row?: string;
  readonly session?: string;
  readonly problem: "missing" | "extra" | "different" | "count";
}

export interface VerifyOptions {
  readonly source: CopyEnd;
  readonly target: CopyEnd;
  readonly columns: ReadonlyMap<string, readonly string[]>;
  /** The rows of the source. */
  readonly counts: ReadonlyMap<string, number>;
  onProgress(rows: number, table: string): void;
}

/** The first ones show the problem. */
const MAX_MISMATCHES = 100;

/** Compares the number of rows of every table, and a hash of every row; of the data of sessions, one hash per session. */
export async function verifyCopy(options: VerifyOptions): Promise<CopyMismatch[]> {
  const mismatches: CopyMismatch[] = [];
  for (const table of COPIED_TABLES) {
    if (mismatches.length >= MAX_MISMATCHES) break;
    if ((await options.target.countRows(table)) !== options.counts.get(table.name))
      mismatches.push({ table: table.name, problem: "count" });
    for (const { group, problem } of await compareTable(options, table))
      mismatches.push(await describeMismatch(options, table, group, problem));
  }
  return mismatches.slice(0, MAX_MISMATCHES);
}

/** Rows that are verified together, with the text that identifies them. */
interface RowGroup {
  readonly name: string;
  readonly session: bigint | undefined;
  readonly digest: string;
}

interface GroupMismatch {
  readonly group: RowGroup;
  readonly problem: "missing" | "extra" | "different";
}

/**
 * Reads both sides in step. The engines may sort unusual texts differently, so a group without its counterpart waits for
 * it; that is only long if one is missing.
 */
async function compareTable(options: VerifyOptions, table: CopiedTable): Promise<GroupMismatch[]> {
  const all = options.columns.get(table.name) ?? [];
  const columns = all.filter((column) => !table.derived?.includes(column));
  const inSource = readGroups(options.source, table, columns, (rows) => options.onProgress(rows, table.name));
  const inTarget = readGroups(options.target, table, columns, () => {});
  const [missing, extra] = [new Map<string, RowGroup>(), new Map<string, RowGroup>()];
  const found: GroupMismatch[] = [];
  const match = (group: RowGroup, own: Map<string, RowGroup>, other: Map<string, RowGroup>): void => {
    const counterpart = other.get(group.name);
    if (counterpart === undefined) own.set(group.name, group);
    else {
      other.delete(group.name);
      if (counterpart.digest !== group.digest) found.push({ group, problem: "different" });
    }
  };
  for (;;) {
    const [left, right] = await Promise.all([inSource.next(), inTarget.next()]);
    if (left.done && right.done) break;
    if (!left.done) match(left.value, missing, extra);
    if (!right.done) match(right.value, extra, missing);
  }
  for (const group of missing.values()) found.push({ group, problem: "missing" });
  for (const group of extra.values()) found.push({ group, problem: "extra" });
  return found.slice(0, MAX_MISMATCHES);
}

async function* readGroups(
  end: CopyEnd,
  table: CopiedTable,
  columns: readonly string[],
  onRows: (rows: number) => void,
): AsyncGenerator<RowGroup> {
  const getKey = buildKeyReader(table, columns);
  const identify = (row: CopyRow): Pick<RowGroup, "name" | "session"> => {
    const key = getKey(row);
    const session = table.session?.(key[0] as bigint);
    return { name: session === undefined ? formatKey(key) : `${session}`, session };
  };
  let current:
    | (Pick<RowGroup, "name" | "session"> & { hasher: ReturnType<typeof createRowHasher> })
    | undefined;
  const close = ({ name, session, hasher }: NonNullable<typeof current>): RowGroup => ({
    name,
    session,
    digest: hasher.digest(),
  });
  for await (const rows of readBatches(end, table, columns)) {
    for (const row of rows) {
      const group = identify(row);
      if (current?.name !== group.name) {
        if (current !== undefined) yield close(current);
        current = { ...group, hasher: createRowHasher() };
      }
      current.hasher.add(row);
    }
    onRows(rows.length);
  }
  if (current !== undefined) yield close(current);
}

async function describeMismatch(
  { source, target }: VerifyOptions,
  table: CopiedTable,
  { name, session }: RowGroup,
  problem: GroupMismatch["problem"],
): Promise<CopyMismatch> {
  if (session === undefined) return { table: table.name, row: name, problem };
  const id = (await findSessionId(source, session)) ?? (await findSessionId(target, session));
  return { table: table.name, session: id ?? `number ${session}`, problem };
}

async function findSessionId(end: CopyEnd, session: bigint): Promise<string | undefined> {
  const table = COPIED_TABLES.find(({ name }) => name === "sessions");
  if (table === undefined) return undefined;
  const request = { table, columns: ["n", "id"], after: [session - 1n], limit: 1 };
  const [[number, id] = []] = await end.readRows(request);
  return number === session ? String(id) : undefined;
}
