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

/** No settings file is larger. */
const MAX_BYTES = 8_000_000;
const MAX_TRIES = 20;

/**
 * Changes a file of another program atomically; its mode, its owner and a symbolic link to it stay. If there is no file,
 * `change` gets an empty text and the new file is readable only by its owner. `undefined` writes nothing.
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
  /** The file without symbolic links. */
  readonly target: string;
  readonly text: string;
  /** `undefined` if there is no file. */
  readonly stats?: Stats;
}

function readSettings(file: string): SettingsFile {
  try {
    const target = realpathSync(file);
    const stats = statSync(target);
    if (!stats.isFile()) throw unusableFile(file, "is not a file");
    if (stats.size > MAX_BYTES) throw unusableFile(file, "is too large for a settings file");
    return { target, stats, text: decodeUtf8(file, readFileSync(target)) };
  } catch (error) {
    if (error instanceof PostriderError) throw error;
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw toSettingsError(file, "read", error);
  }
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    throw unusableFile(file, `is a link to ${readlinkSync(file)}, which does not exist`);
  return { target: file, text: "" };
}

/** Strict, because text that is not UTF-8 would change when it is written back. */
function decodeUtf8(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unusableFile(file, "is not UTF-8 text");
  }
}

/** False if another program, such as the editor, changed the file meanwhile. */
function tryReplace(file: string, before: SettingsFile, text: string): boolean {
  const { target, stats } = before;
  try {
    // Replacing needs only a writable folder, but a write-protected file must not change.
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
      rmSync(draft, { force: true }); // already gone if it replaced the file
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
      ? `The disk is full: ${file} was not changed. Free some space.`
      : `${file} cannot be ${what}: ${message}. The file was not changed. If another program generates it, add the entry there: without --write it is printed.`,
    { cause, details: { file } },
  );
}
