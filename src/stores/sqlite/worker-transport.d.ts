import type { SqliteOptions, Transport } from "./store.ts";
/**
 * Three connections: one thread writes; this thread makes short keyed reads itself; a third thread, started on demand,
 * makes the long ones. So a search over everything delays neither the event loop nor a write.
 */
export declare function openWorkerTransport(options: SqliteOptions): Promise<Transport>;
