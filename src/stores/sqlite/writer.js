import { indexMessages } from "../sql/search.js";
import { openWriter } from "./connection.js";
import { guardFiles } from "./file-guard.js";
import { commitBatch, MAX_BATCH, rollBack } from "./group-commit.js";
import { retryBusy, toStoreError } from "./store-errors.js";
import { beginImmediateSql, commitSql } from "./transaction.js";
import { rescueDatabase } from "./upkeep/rescue.js";
/**
 * Words are indexed in idle times: a search reads pending messages directly, which takes a few hundredths of a second for
 * this number. Only above it are they indexed between calls, which costs a third of the speed.
 */
const MAX_UNINDEXED = 8192;
const INDEX_CHUNK = 64;
const IDLE_MS = 20;
/** Other writers take a fraction of this; a process that holds the database longer repairs it. */
const INDEX_TIMEOUT_MS = 20;
const RETRY_MS = 500;
const REMOVING_WRITES = new Set(["remove", "prune", "erasePerson"]);
export function startWriter(options, operations) {
    const db = openWriter(options);
    const guard = guardFiles(db);
    let lost;
    let unindexed = 0;
    let commits = 0;
    // An earlier process may have left messages that are not indexed.
    let idle = setTimeout(indexWhenIdle, IDLE_MS).unref();
    function indexWhenIdle() {
        idle = undefined;
        if (lost !== undefined)
            return;
        const done = indexChunk(db);
        if (done === undefined)
            idle = setTimeout(indexWhenIdle, RETRY_MS).unref();
        else if (done < INDEX_CHUNK)
            unindexed = 0;
        else
            idle = setTimeout(indexWhenIdle, 0).unref();
    }
    return {
        run(calls) {
            const refuse = (error) => calls.map(() => ({ error }));
            if (lost !== undefined)
                return refuse(lost);
            const outcomes = [];
            for (let at = 0; at < calls.length; at += MAX_BATCH) {
                outcomes.push(...commitBatch(db, calls.slice(at, at + MAX_BATCH), operations));
            }
            if (calls.some((call) => REMOVING_WRITES.has(call.name)))
                truncateLog(db);
            // After the commit and before the answer: no write to a deleted file is acknowledged.
            const missing = guard.findLost();
            if (missing !== undefined) {
                lost = rescueDatabase(db, missing, guard.database);
                return refuse(lost);
            }
            unindexed += calls.length;
            return outcomes.map((outcome) => "error" in outcome ? { error: toStoreError(outcome.error, options.file) } : outcome);
        },
        scheduleIndexing() {
            if (lost !== undefined)
                return;
            if (unindexed >= MAX_UNINDEXED && (indexChunk(db) ?? INDEX_CHUNK) < INDEX_CHUNK)
                unindexed = 0;
            if (idle === undefined)
                idle = setTimeout(indexWhenIdle, IDLE_MS).unref();
            else
                idle.refresh();
        },
        readDataVersion() {
            try {
                commits = Number(db.pragma("data_version"));
            }
            catch {
                // Another process repairs the log of a killed one. The next call shows changes.
            }
            return commits;
        },
        close() {
            clearTimeout(idle);
            db.close();
        },
    };
}
/**
 * One small commit of index work; `undefined` if it fails now. It never waits long: searches work without it, and in a
 * process with one thread everything else would wait, too.
 */
function indexChunk(db) {
    try {
        retryBusy(() => db.run(beginImmediateSql), INDEX_TIMEOUT_MS);
        const done = indexMessages(db, INDEX_CHUNK);
        db.run(commitSql);
        return done;
    }
    catch {
        rollBack(db);
        return undefined;
    }
}
/** Deleted words are overwritten in the database file, but the log still contains their pages. */
function truncateLog(db) {
    try {
        db.pragma("wal_checkpoint(TRUNCATE)");
    }
    catch {
        // A reader prevents it; the next checkpoint overwrites them.
    }
}
