import { PostriderError } from "../../core/errors.ts";
import type { Store } from "../../ports/store.ts";
export interface SqliteOptions {
    /** The database file; created if it does not exist. Its folder must exist. */
    readonly file: string;
    /**
     * `workers` (default): writes and long reads run in separate threads, so the event loop never waits for the disk.
     * `in-process`: everything runs in this thread, for short commands.
     */
    readonly mode?: "workers" | "in-process";
    /** The maximum size of the database in bytes; a larger write is refused with `disk_full`. */
    readonly maxBytes?: number;
    /**
     * Called once when the database's files were removed, replaced or moved. The error, `store_lost`, names the file to
     * which all acknowledged data was saved. Every later write is refused with it; the caller should stop and report it.
     */
    readonly onLost?: (error: PostriderError) => void;
}
/** How the calls of the port reach the database, in one thread or several. */
export interface Transport {
    write(name: string, input: unknown): Promise<unknown>;
    read(name: string, input: unknown): Promise<unknown>;
    onChange(listener: () => void): () => void;
    close(): Promise<void>;
}
/** Opens a database, and creates it if it does not exist. */
export declare function sqliteStore(options: SqliteOptions): Promise<Store>;
