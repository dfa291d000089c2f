import { resolve } from "node:path";
import { PostriderError } from "../../core/errors.ts";
import type { Store } from "../../ports/store.ts";
import { OPERATIONS, type OperationKind } from "./operations.ts";

export interface SqliteOptions {
  /** The database file; created, with its first contents, when it is not there. Its folder must exist. */
  readonly file: string;
  /**
   * `workers` (default): writing and long reads happen in threads of their own, so the program's loop never
   * waits for the disk. `in-process`: everything in this thread, for commands that live a moment.
   */
  readonly mode?: "workers" | "in-process";
  /** The database may not grow beyond this many bytes; what would is refused with `disk_full`. */
  readonly maxBytes?: number;
  /**
   * Called once when the database's files were removed, replaced or moved. The error, `store_lost`, says where everything
   * acknowledged was saved. Every later write is refused with it; a program should stop and say so.
   */
  readonly onLost?: (error: PostriderError) => void;
}

/** How the port's calls reach the database, whichever threads are involved. */
export interface Transport {
  write(name: string, input: unknown): Promise<unknown>;
  read(name: string, input: unknown): Promise<unknown>;
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** Opens, and if need be creates, a database. */
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
  const wrong = (field: string, expected: string): PostriderError =>
    new PostriderError("invalid_input", `${field} must be ${expected}.`, { details: { field } });
  if (typeof file !== "string" || file === "" || file.includes("\0"))
    throw wrong("file", "the path of a file");
  if (mode !== "workers" && mode !== "in-process") throw wrong("mode", "workers or in-process");
  if (!Number.isFinite(maxBytes) || maxBytes <= 0) throw wrong("maxBytes", "a number of bytes");
}
