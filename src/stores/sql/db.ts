import type { SearchQuery } from "../../core/search-query.ts";
import type { Dialect } from "./dialect.ts";

/** SQL, or a function of the dialect that returns it. */
export type Statement = string | ((dialect: Dialect) => string);

export function getSql(statement: Statement, dialect: Dialect): string {
  return typeof statement === "string" ? statement : statement(dialect);
}

/** A connection inside a transaction, as an engine implements it. Every statement is prepared once. */
export interface Db {
  get<Row>(statement: Statement, ...values: readonly unknown[]): Row | undefined;
  all<Row>(statement: Statement, ...values: readonly unknown[]): Row[];
  /** Rows as arrays, for long histories. */
  rows(statement: Statement, ...values: readonly unknown[]): unknown[][];
  /** Returns the number of changed rows. */
  run(statement: Statement, ...values: readonly unknown[]): number;
  /** Returns the number `n` of the new row. */
  insert(statement: Statement, ...values: readonly unknown[]): number;
  /** For statements whose result nobody needs: an engine may send them together with the next one. */
  send(statement: Statement, ...values: readonly unknown[]): void;
  /** The store's clock, for heartbeats and leases: the machine's own for an embedded database, the server's otherwise. */
  now(machineNow: number): number;
  /**
   * Called before an operation touches rows outside its scope. An engine with several writers starts the operation again
   * with the whole database locked.
   */
  widenScope(): void;
  /** Identifies the store in caches: the same for all of its connections. */
  readonly store: object;
  readonly dialect: Dialect;
  readonly index: SearchIndex;
}

/** The index of words. The operations decide which messages it contains. */
export interface SearchIndex {
  /** The newest matches in these sessions, newest first. */
  findMatches(db: Db, query: SearchQuery, sessions: SessionScope, limit: number): RankedHit[];
  addWords(db: Db, message: number, terms: string): void;
  /** The terms must be those that were added. */
  removeWords(db: Db, message: number, terms: string): void;
  removeAllWords(db: Db): void;
}

export interface SessionScope {
  /** A query for the numbers of the sessions to search. */
  readonly numbers: string;
  readonly values: readonly unknown[];
}

export interface RankedHit {
  /** The id of the message. */
  readonly id: number;
  /** Lower is better. */
  readonly rank: number;
}
