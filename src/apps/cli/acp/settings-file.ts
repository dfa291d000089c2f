import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import { commitDraftFile, writeDraftFile } from "../../config/draft-file.ts";

/** Larger than anybody's settings; whatever is, is something else. */
const MAX_BYTES = 8_000_000;
const MAX_TRIES = 20;

/**
 * Changes a file that belongs to another program: it has the old text or the new one, whatever happens in between, and
 * keeps its mode and owner. One that is kept elsewhere and linked here stays there. One that is not there yet is made,
 * readable by its owner alone; `change` gets an empty text then. Where it returns undefined nothing is written.
 */
export function changeSettings(file: string, change: (text: string) => string | undefined): void {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const before = readSettings(file);
    const text = change(before.text);
    if (text === undefined || tryReplace(file, before, text)) return;
  }
  throw new PostriderError("busy", `${file} keeps changing. Nothing was written; try again.`, {
    details: { file },
  });
}

interface SettingsFile {
  /** Where it really is. */
  readonly target: string;
  readonly text: string;
  /** Undefined while there is no such file. */
  readonly stats?: Stats;
}

function readSettings(file: string): SettingsFile {
  try {
    const target = realpathSync(file);
    const stats = statSync(target);
    if (!stats.isFile()) throw unusableFile(file, "is not a file");
    if (stats.size > MAX_BYTES) throw unusableFile(file, "is larger than settings can be");
    return { target, stats, text: decodeUtf8(file, readFileSync(target)) };
  } catch (error) {
    if (error instanceof PostriderError) throw error;
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw toSettingsError(file, "read", error);
  }
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    throw unusableFile(file, `is a link to ${readlinkSync(file)}, which is not there`);
  return { target: file, text: "" };
}

/** Byte for byte: what is not UTF-8 would not come out as it went in. */
function decodeUtf8(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unusableFile(file, "is not UTF-8 text");
  }
}

/** False when somebody else, such as the editor, has changed it meanwhile. */
function tryReplace(file: string, before: SettingsFile, text: string): boolean {
  const { target, stats } = before;
  try {
    // Only its folder has to be writable for what follows, but whoever protects the file itself means it.
    if (stats === undefined) mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    else accessSync(target, constants.W_OK);
    const draft = writeDraftFile(target, text);
    try {
      if (stats !== undefined) copyOwnership(draft, stats);
      const now = readSettings(file);
      if (
        now.target !== target ||
        now.text !== before.text ||
        (now.stats === undefined) !== (stats === undefined)
      )
        return false;
      commitDraftFile(target, draft);
      return true;
    } finally {
      rmSync(draft, { force: true }); // it is not there any more if it has taken the file's place
    }
  } catch (error) {
    throw error instanceof PostriderError ? error : toSettingsError(file, "written", error);
  }
}

function copyOwnership(draft: string, { mode, uid, gid }: Stats): void {
  const own = statSync(draft);
  if (own.uid !== uid || own.gid !== gid) chownSync(draft, uid, gid);
  chmodSync(draft, mode & 0o7777);
}

function unusableFile(file: string, why: string): PostriderError {
  return new PostriderError("invalid_config", `${file} ${why}. Nothing was written.`, { details: { file } });
}

function toSettingsError(file: string, what: "read" | "written", cause: unknown): PostriderError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const full = code === "ENOSPC" || code === "EDQUOT";
  return new PostriderError(
    full ? "disk_full" : "read_only",
    full
      ? `There is no room to write ${file}. It is as it was; free some space.`
      : `${file} cannot be ${what}: ${message}. It is as it was. If another program makes this file, add the entry there: without --write it is printed.`,
    { cause, details: { file } },
  );
}
