import type { Db } from "./connection.ts";

// Asked for, not imported: to make an ES module of node:fs takes longer than to open the database.
const { realpathSync, statSync } = process.getBuiltinModule("node:fs");

/** A file of an open database whose path no longer leads to it. */
export interface LostFile {
  readonly path: string;
  readonly how: "removed" | "replaced";
}

export interface FileGuard {
  /** The database file itself, wherever its path may lead later. */
  readonly database: FileIdentity;
  /** Called before each answer. It looks at the files unless the last look was a few milliseconds ago. */
  findLost(): LostFile | undefined;
}

export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * A look takes as long as a tenth of a commit. What is acknowledged in between is still read through the open files and
 * saved by the next look.
 */
const CHECK_INTERVAL_MS = 5;

/**
 * Remembers which files a connection has open. SQLite resets and truncates its log but keeps the file as long as one
 * connection is open, so another inode at the path means that commits go where nobody will find them.
 */
export function guardFiles(db: Db): FileGuard {
  const hasLog = db.pragma("journal_mode") === "wal";
  // SQLite follows a symbolic link to the database before it names the files beside it.
  const real = resolveRealPath(db.file);
  const paths = hasLog ? [db.file, `${real}-wal`, `${real}-shm`] : [db.file];
  const files = paths.map((path) => ({ path, ...identifyFile(path) }));
  let lookedAt = 0;
  return {
    database: files[0] ?? { dev: 0, ino: 0 },
    findLost() {
      if (performance.now() - lookedAt < CHECK_INTERVAL_MS) return undefined;
      lookedAt = performance.now();
      for (const { path, dev, ino } of files) {
        const found = statFile(path);
        if (found === "unknown") continue;
        if (found === undefined || ino === 0) return { path, how: "removed" };
        if (found.ino !== ino || found.dev !== dev) return { path, how: "replaced" };
      }
      return undefined;
    },
  };
}

function resolveRealPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function identifyFile(path: string): FileIdentity {
  const found = statFile(path);
  // A file that is missing from the start is found lost by the first look.
  return found === undefined || found === "unknown" ? { dev: 0, ino: 0 } : { dev: found.dev, ino: found.ino };
}

function statFile(path: string): FileIdentity | undefined | "unknown" {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return "unknown"; // a folder that may not be read just now: the file may still be there
  }
}
