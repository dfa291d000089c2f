import type { SearchIndex } from "../sql/db.ts";
/** The full-text index of SQLite, FTS5. */
export declare const sqliteIndex: SearchIndex;
