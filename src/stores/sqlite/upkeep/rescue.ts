import { basename, dirname, join } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { Db } from "../connection.ts";
import type { FileIdentity, LostFile } from "../file-guard.ts";
import { buildTemporaryName, createPrivateFile, hasFile, moveIntoPlace } from "./files.ts";

const { existsSync, fstatSync, readdirSync, readlinkSync, rmSync, statSync } =
  process.getBuiltinModule("node:fs");

/**
 * Saves everything that an open connection can still read, after its files were removed or replaced, and says where it
 * is. The connection reads the files it has open, so the copy holds every commit that was ever acknowledged.
 */
export function rescueDatabase(
  db: Db,
  lost: LostFile,
  own: FileIdentity,
  now: number = Date.now(),
): PostriderError {
  const { file } = db;
  const what = `${lost.path} was ${lost.how} while Postrider had it open, so nothing more is stored.`;
  const details = { file, lost: lost.path, how: lost.how };
  const movedTo = findMoved(own, file);
  if (movedTo !== undefined) {
    return new PostriderError(
      "store_lost",
      `${what} The database is whole at ${movedTo}. Move its folder back, or set POSTRIDER_HOME to it, and start Postrider again.`,
      { details: { ...details, movedTo } },
    );
  }
  try {
    const rescued = saveCopy(db, now);
    return new PostriderError(
      "store_lost",
      `${what} Everything acknowledged so far is saved in ${rescued}. To continue with it, end every Postrider process of this home and run: postrider restore ${rescued} --replace.`,
      { details: { ...details, rescued } },
    );
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new PostriderError(
      "store_lost",
      `${what} Saving a copy failed too: ${why}. Restore a backup: postrider restore FILE --replace.`,
      { cause, details },
    );
  }
}

function saveCopy(db: Db, now: number): string {
  const to = findFreeName(db.file, now);
  const writing = buildTemporaryName(to);
  try {
    createPrivateFile(writing);
    db.run("vacuum into ?", writing);
    moveIntoPlace(writing, to, false);
    return to;
  } finally {
    rmSync(writing, { force: true });
  }
}

/** Beside the database, or, if its folder is gone, beside the folder. */
function findFreeName(file: string, now: number): string {
  const stamp = `rescued-${new Date(now).toISOString().replaceAll(/[:.]/g, "-")}`;
  let place = `${file}.${stamp}`;
  for (let folder = dirname(file); !existsSync(folder); folder = dirname(folder))
    place = join(dirname(folder), `${basename(folder)}.${stamp}.db`);
  let name = place;
  for (let n = 2; hasFile(name); n += 1) name = `${place}-${n}`;
  return name;
}

/** Where the open database is now, if it was moved together with its log. Only Linux can tell. */
function findMoved(own: FileIdentity, file: string): string | undefined {
  if (statSync(file, { throwIfNoEntry: false })?.ino === own.ino) return undefined;
  const open = listOpenFiles();
  const database = open.find(({ dev, ino }) => dev === own.dev && ino === own.ino);
  const log = open.find(({ path }) => path === `${database?.path}-wal`);
  return log === undefined ? undefined : database?.path;
}

/** The files that this process has open under a name that still leads to them. */
function listOpenFiles(): (FileIdentity & { readonly path: string })[] {
  const folder = "/proc/self/fd";
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((fd) => {
    try {
      const path = readlinkSync(join(folder, fd));
      const { dev, ino } = fstatSync(Number(fd));
      const there = statSync(path, { throwIfNoEntry: false });
      return there?.ino === ino && there.dev === dev ? [{ path, dev, ino }] : [];
    } catch {
      return []; // closed meanwhile
    }
  });
}
