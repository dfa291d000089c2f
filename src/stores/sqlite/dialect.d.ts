import type { Dialect } from "../sql/dialect.ts";
export declare const sqliteDialect: Dialect;
