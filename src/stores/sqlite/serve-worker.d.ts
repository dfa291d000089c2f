import { type MessagePort } from "node:worker_threads";
import type { PostriderError } from "../../core/errors.ts";
import { type WriterOptions } from "./connection.ts";
/** The start data and messages of the two workers. */
export interface WorkerStart {
    readonly role: "writer" | "reader";
    readonly options: WriterOptions;
}
export type ToWorker = {
    readonly calls: readonly NumberedCall[];
} | {
    readonly listen: boolean;
} | {
    readonly close: true;
};
export type FromWorker = {
    readonly ready: true;
} | {
    readonly failed: PlainError;
} | {
    readonly outcomes: readonly NumberedOutcome[];
} | {
    readonly changed: true;
} | {
    readonly closed: true;
};
export type NumberedCall = readonly [number: number, name: string, input: unknown];
export type NumberedOutcome = readonly [number: number, value: unknown, error?: PlainError];
/** An error in a form that can cross threads; classes cannot. */
export interface PlainError {
    readonly code: PostriderError["code"];
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
}
/** Runs a worker from its start to its end. */
export declare function serveWorker(port: MessagePort): Promise<void>;
