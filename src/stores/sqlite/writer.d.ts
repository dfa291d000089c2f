import type { CallOutcome, LoadedOperations, WriteCall } from "../sql/operations.ts";
import { type WriterOptions } from "./connection.ts";
/** The only writing connection: commits calls, and indexes when it is idle. */
export interface Writer {
    /** Never throws: a failed call has an error as its outcome. */
    run(calls: readonly WriteCall[]): CallOutcome[];
    /** Schedules work that can wait until all calls are answered. Call it after that. */
    scheduleIndexing(): void;
    /** Increases when another process has committed. */
    readDataVersion(): number;
    close(): void;
}
export declare function startWriter(options: WriterOptions, operations: LoadedOperations): Writer;
