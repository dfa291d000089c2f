// Not an import: creating an ES module of node:fs takes longer than opening the database.
const { realpathSync, statSync } = process.getBuiltinModule("node:fs");
/**
 * A check takes as long as a tenth of a commit. Commits in between are still readable through the open files, and the
 * next check saves them.
 */
const CHECK_INTERVAL_MS = 5;
/**
 * Records which files a connection has open. SQLite resets and truncates its log but keeps the file while a connection is
 * open, so another inode at the path means that commits go to a file that no other process opens.
 */
export function guardFiles(db) {
    const hasLog = db.pragma("journal_mode") === "wal";
    // SQLite follows a symbolic link to the database before it names the files beside it.
    const real = resolveRealPath(db.file);
    const paths = hasLog ? [db.file, `${real}-wal`, `${real}-shm`] : [db.file];
    const files = paths.map((path) => ({ path, ...identifyFile(path) }));
    let checkedAt = 0;
    return {
        database: files[0] ?? { dev: 0, ino: 0 },
        findLost() {
            if (performance.now() - checkedAt < CHECK_INTERVAL_MS)
                return undefined;
            checkedAt = performance.now();
            for (const { path, dev, ino } of files) {
                const found = statFile(path);
                if (found === "unknown")
                    continue;
                if (found === undefined || ino === 0)
                    return { path, how: "removed" };
                if (found.ino !== ino || found.dev !== dev)
                    return { path, how: "replaced" };
            }
            return undefined;
        },
    };
}
function resolveRealPath(file) {
    try {
        return realpathSync(file);
    }
    catch {
        return file;
    }
}
function identifyFile(path) {
    const found = statFile(path);
    // A file that is missing from the start counts as lost in the first check.
    return found === undefined || found === "unknown" ? { dev: 0, ino: 0 } : { dev: found.dev, ino: found.ino };
}
function statFile(path) {
    try {
        return statSync(path, { throwIfNoEntry: false });
    }
    catch {
        return "unknown"; // the folder cannot be read now: the file may still exist
    }
}
