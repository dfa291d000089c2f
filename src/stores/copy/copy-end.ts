import type { CopiedTable } from "./copied-tables.ts";

/** A value of a column. Whole numbers are `bigint`, because a column has 64 bits; `number` is a floating-point number. */
export type CopyValue = null | bigint | number | string | Uint8Array;
export type CopyRow = readonly CopyValue[];

export interface RowRequest {
  readonly table: CopiedTable;
  /** The columns of the result, in this order. */
  readonly columns: readonly string[];
  /** The key of the last row that is known. */
  readonly after?: CopyRow | undefined;
  readonly limit: number;
}

/** A process that uses a store. */
export interface StoreUser {
  readonly pid: number;
  readonly host: string;
  /** The lease that makes it a gateway or worker. */
  readonly lease: string | null;
}

/** A database that is the source or the target of a copy. */
export interface CopyEnd {
  /** Identifies the database in the state of a copy and in messages. Contains no secret. */
  readonly name: string;
  listColumns(table: CopiedTable): Promise<readonly string[]>;
  countRows(table: CopiedTable): Promise<number>;
  /** The next rows in the order of the key. Less than `limit` means that there are no more. */
  readRows(request: RowRequest): Promise<CopyRow[]>;
  /** The last number that the table gave to a row; 0 if it gave none. */
  readSequence(table: CopiedTable): Promise<bigint>;
  /** The other processes that use the database now. */
  listUsers(now: number): Promise<readonly StoreUser[]>;
  close(): Promise<void>;
}

/** All reads see one snapshot, and no process can write until it is closed. */
export interface CopySource extends CopyEnd {}

/** The progress of a copy. It is stored in the target, in the same transaction as the rows. */
export interface CopyState {
  /** The name of the source. */
  readonly source: string;
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly tables: Readonly<Record<string, TableState>>;
}

export interface TableState {
  readonly rows: number;
  /** The key of the last copied row, encoded. */
  readonly after?: readonly string[];
  readonly isComplete?: true;
}

export interface CopyTarget extends CopyEnd {
  /** The state of the copy that this database is; `undefined` if it is none. */
  readState(): Promise<CopyState | undefined>;
  /** Marks the database as an unfinished copy, which no store opens, and removes the rows of these tables. */
  begin(state: CopyState, emptied: readonly CopiedTable[]): Promise<void>;
  /** Continues a copy. Another process that still writes it fails with its next batch. */
  takeOver(): Promise<void>;
  writeRows(
    table: CopiedTable,
    columns: readonly string[],
    rows: readonly CopyRow[],
    state: CopyState,
  ): Promise<void>;
  /** The next row gets a higher number. */
  writeSequence(table: CopiedTable, last: bigint): Promise<void>;
  /** Adds some messages to the search index. */
  indexMessages(): Promise<{ readonly added: number; readonly isComplete: boolean }>;
  /** Makes the database usable. */
  finish(state: CopyState): Promise<void>;
}
