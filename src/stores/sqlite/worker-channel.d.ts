import type { WorkerStart } from "./serve-worker.ts";
/** Calls to one worker. Calls of one tick are sent together; if the worker dies, all pending calls are rejected. */
export interface WorkerChannel {
    call(name: string, input: unknown): Promise<unknown>;
    listen(on: boolean): void;
    close(): Promise<void>;
}
export declare function openWorkerChannel(start: WorkerStart, onChanged: () => void): Promise<WorkerChannel>;
