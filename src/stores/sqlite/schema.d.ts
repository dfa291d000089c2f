/** Marks the file as a database of Postrider: "Post" in ASCII. */
export declare const APPLICATION_ID = 1349481332;
/**
 * One entry per schema version, in order; never edited after release. Version 1 is the first.
 *
 * messages.id = session number · 2^24 + seq, so that the messages of a session are adjacent and a history is one range
 * scan. Missing parts of an identity are '' or 0, because NULLs are distinct in a unique index.
 * Queries must repeat predicates of partial indexes exactly, or SQLite scans.
 *
 * words is contentless without contentless_delete, on purpose: with it, a deleted word stays in the file until segments
 * merge, while the 'delete' command under secure-delete removes it at once. That command needs exactly the inserted terms,
 * so a change of core/search-terms is a migration that rebuilds this table.
 */
export declare const MIGRATIONS: readonly string[];
