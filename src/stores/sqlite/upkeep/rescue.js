import { basename, dirname, join } from "node:path";
import { PostriderError } from "../../../core/errors.js";
import { buildTemporaryName, createPrivateFile, hasFile, moveIntoPlace } from "./files.js";
const { existsSync, fstatSync, readdirSync, readlinkSync, rmSync, statSync } = process.getBuiltinModule("node:fs");
/**
 * Saves everything that an open connection can still read, after its files were removed or replaced, and returns an error
 * with the path. The connection reads its open files, so the copy contains every acknowledged commit.
 */
export function rescueDatabase(db, lost, own, now = Date.now()) {
    const { file } = db;
    const loss = `${lost.path} was ${lost.how} while Postrider had it open, so nothing more is stored.`;
    const details = { file, lost: lost.path, how: lost.how };
    const movedTo = findMoved(own, file);
    if (movedTo !== undefined) {
        return new PostriderError("store_lost", `${loss} The database is complete at ${movedTo}. Move its folder back, or set POSTRIDER_HOME to it, and start Postrider again.`, { details: { ...details, movedTo } });
    }
    try {
        const rescued = saveCopy(db, now);
        return new PostriderError("store_lost", `${loss} Everything acknowledged so far is saved in ${rescued}. To continue with it, end every Postrider process of this home and run: postrider restore ${rescued} --replace.`, { details: { ...details, rescued } });
    }
    catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        return new PostriderError("store_lost", `${loss} Saving a copy failed too: ${reason}. Restore a backup: postrider restore FILE --replace.`, { cause, details });
    }
}
function saveCopy(db, now) {
    const to = findFreeName(db.file, now);
    const temporary = buildTemporaryName(to);
    try {
        createPrivateFile(temporary);
        db.run("vacuum into ?", temporary);
        moveIntoPlace(temporary, to, false);
        return to;
    }
    finally {
        rmSync(temporary, { force: true });
    }
}
/** Beside the database, or, if its folder is gone, beside the folder. */
function findFreeName(file, now) {
    const stamp = `rescued-${new Date(now).toISOString().replaceAll(/[:.]/g, "-")}`;
    let path = `${file}.${stamp}`;
    for (let folder = dirname(file); !existsSync(folder); folder = dirname(folder))
        path = join(dirname(folder), `${basename(folder)}.${stamp}.db`);
    let name = path;
    for (let n = 2; hasFile(name); n += 1)
        name = `${path}-${n}`;
    return name;
}
/** The new path of the open database, if it was moved together with its log. Works on Linux only. */
function findMoved(own, file) {
    if (statSync(file, { throwIfNoEntry: false })?.ino === own.ino)
        return undefined;
    const open = listOpenFiles();
    const database = open.find(({ dev, ino }) => dev === own.dev && ino === own.ino);
    const log = open.find(({ path }) => path === `${database?.path}-wal`);
    return log === undefined ? undefined : database?.path;
}
/** The open files of this process whose paths still lead to them. */
function listOpenFiles() {
    const folder = "/proc/self/fd";
    if (!existsSync(folder))
        return [];
    return readdirSync(folder).flatMap((fd) => {
        try {
            const path = readlinkSync(join(folder, fd));
            const { dev, ino } = fstatSync(Number(fd));
            const current = statSync(path, { throwIfNoEntry: false });
            return current?.ino === ino && current.dev === dev ? [{ path, dev, ino }] : [];
        }
        catch {
            return []; // closed meanwhile
        }
    });
}
