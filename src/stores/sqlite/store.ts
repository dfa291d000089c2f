import { resolve } from "node:path";
import { PostriderError } from "../../core/errors.ts";
import type { Store } from "../../ports/store.ts";
import { OPERATIONS, type OperationKind } from "../sql/operations.ts";

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
export async function sqliteStore(options: SqliteOptions): Promise<Store> {
  checkOptions(options);
  const { onLost, ...rest } = options;
  const settings = { ...rest, file: resolve(options.file) };
  const transport = await (options.mode === "in-process"
    ? (await import("./in-process-transport.ts")).openInProcessTransport(settings)
    : (await import("./worker-transport.ts")).openWorkerTransport(settings));
  const write = onLost === undefined ? transport.write : reportLoss(transport.write, onLost);
  const call = (name: string, kind: OperationKind) =>
    kind === "read" || kind === "readLong"
      ? (input: unknown) => transport.read(name, input)
      : (input: unknown) => write(name, input);
  const facets = Object.entries(OPERATIONS).map(([facet, operations]) => [
    facet,
    Object.fromEntries(Object.entries(operations).map(([name, { kind }]) => [name, call(name, kind)])),
  ]);
  const { onChange, close } = transport;
  return { ...Object.fromEntries(facets), onChange, close } as Store;
}

function reportLoss(write: Transport["write"], onLost: (error: PostriderError) => void): Transport["write"] {
  let isReported = false;
  return async (name, input) => {
    try {
      return await write(name, input);
    } catch (error) {
      if (error instanceof PostriderError && error.code === "store_lost" && !isReported) {
        isReported = true;
        onLost(error);
      }
      throw error;
    }
  };
}

function checkOptions(options: SqliteOptions): void {
  const { file, mode = "workers", maxBytes = 1 } = options ?? {};
  const createOptionError = (field: string, expected: string): PostriderError =>
    new PostriderError("invalid_input", `${field} must be ${expected}.`, { details: { field } });
  if (typeof file !== "string" || file === "" || file.includes("\0"))
    throw createOptionError("file", "the path of a file");
  if (mode !== "workers" && mode !== "in-process") throw createOptionError("mode", "workers or in-process");
  if (!Number.isFinite(maxBytes) || maxBytes <= 0) throw createOptionError("maxBytes", "a number of bytes");
}
