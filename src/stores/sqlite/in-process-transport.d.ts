import type { SqliteOptions, Transport } from "./store.ts";
/**
 * Runs everything in this thread. Calls of one turn of the event loop still share a commit. The writer is loaded and
 * opened on the first write: a command that only reads has answered by then.
 */
export declare function openInProcessTransport(options: SqliteOptions): Promise<Transport>;
