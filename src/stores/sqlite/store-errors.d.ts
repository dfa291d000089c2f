import { PostriderError } from "../../core/errors.ts";
/**
 * SQLite's own busy handler sleeps longer and longer and is unfair between processes. Short random waits are fair: with
 * three writers, the longest wait is about 20 ms instead of 100.
 */
export declare function retryBusy<T>(attempt: () => T, timeoutMs?: number): T;
/** The same without blocking the thread. A read waits only while another process repairs the log of a killed one. */
export declare function retryBusyAsync<T>(attempt: () => T | Promise<T>, timeoutMs?: number): Promise<T>;
/** Converts errors of SQLite and the system. The sentence says what to do. */
export declare function toStoreError(error: unknown, file: string): PostriderError;
export declare function createClosedError(): PostriderError;
