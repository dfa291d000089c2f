import { PostriderError } from "../../core/errors.js";
import { pause } from "../../system/pause.js";
/** How long a writer retries while other processes hold the database. */
const BUSY_DEADLINE_MS = 15_000;
const sleepCell = new Int32Array(new SharedArrayBuffer(4));
/**
 * SQLite's own busy handler sleeps longer and longer and is unfair between processes. Short random waits are fair: with
 * three writers, the longest wait is about 20 ms instead of 100.
 */
export function retryBusy(attempt, timeoutMs = BUSY_DEADLINE_MS) {
    // Computed only after a failure: loading the clock alone takes a millisecond.
    let deadline;
    for (;;) {
        try {
            return attempt();
        }
        catch (error) {
            deadline ??= performance.now() + timeoutMs;
            if (!isBusy(error) || performance.now() > deadline)
                throw error;
            Atomics.wait(sleepCell, 0, 0, 0.05 + Math.random() * 0.25);
        }
    }
}
/** The same without blocking the thread. A read waits only while another process repairs the log of a killed one. */
export async function retryBusyAsync(attempt, timeoutMs = BUSY_DEADLINE_MS) {
    let deadline;
    for (;;) {
        try {
            return await attempt();
        }
        catch (error) {
            deadline ??= performance.now() + timeoutMs;
            if (!isBusy(error) || performance.now() > deadline)
                throw error;
            await pause(1);
        }
    }
}
function getErrorCode(error) {
    const code = error?.code;
    return typeof code === "string" ? code : "";
}
function isBusy(error) {
    return getErrorCode(error).startsWith("SQLITE_BUSY");
}
/** Converts errors of SQLite and the system. The sentence says what to do. */
export function toStoreError(error, file) {
    if (error instanceof PostriderError)
        return error;
    const code = getErrorCode(error);
    const known = ERROR_TEXTS.find(({ codes }) => codes.some((prefix) => code.startsWith(prefix)));
    if (known === undefined) {
        const text = error instanceof Error ? error.message : String(error);
        return new PostriderError("internal", `The database ${file} reported: ${text} (${code || "no code"}).`, {
            cause: error,
            details: { file, code },
        });
    }
    return new PostriderError(known.code, known.sentence(file), { cause: error, details: { file, code } });
}
const ERROR_TEXTS = [
    {
        // SHMSIZE: after a kill, even opening needs space, for the shared memory of the log.
        codes: ["SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE", "ENOSPC", "EFBIG", "EDQUOT"],
        code: "disk_full",
        sentence: (file) => `There is no space to write ${file}. Free some space and try again; no stored data was lost.`,
    },
    {
        codes: [
            "SQLITE_READONLY",
            "SQLITE_CANTOPEN",
            "SQLITE_PERM",
            "EACCES",
            "EROFS",
            "EPERM",
            "ENOENT",
            "ENOTDIR",
        ],
        code: "read_only",
        sentence: (file) => `${file} cannot be opened for writing. Check that its folder exists and that you may write there.`,
    },
    {
        codes: ["SQLITE_CORRUPT", "SQLITE_NOTADB"],
        code: "corrupt",
        sentence: (file) => `${file} is damaged or not a database. It was left as it is: restore it from a backup.`,
    },
    {
        codes: ["SQLITE_BUSY", "SQLITE_LOCKED"],
        code: "busy",
        sentence: (file) => `Another process kept ${file} locked for too long. Try again.`,
    },
    {
        codes: ["SQLITE_TOOBIG"],
        code: "too_large",
        sentence: () => "The value is larger than SQLite allows.",
    },
];
export function createClosedError() {
    return new PostriderError("closed", "This store is closed. Open it again to use it.");
}
