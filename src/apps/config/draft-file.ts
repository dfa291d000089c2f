import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Writes a private draft beside the file and flushes it to disk. Returns its path. */
export function writeDraftFile(file: string, text: string): string {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}.new`;
  const handle = openSync(draft, "wx", 0o600);
  try {
    writeFileSync(handle, text);
    fsyncSync(handle);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(handle);
  }
  return draft;
}

/** Lists drafts that a crashed process left. */
export function listDraftFiles(file: string): string[] {
  const names = readdirSync(dirname(file)).filter(
    (name) => name.startsWith(`${basename(file)}.`) && name.endsWith(".new"),
  );
  return names.map((name) => join(dirname(file), name));
}

/** Replaces the file atomically: a crash leaves the old text or the new one. */
export function commitDraftFile(file: string, draft: string): void {
  renameSync(draft, file);
  if (process.platform === "win32") return; // Windows cannot open a folder
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
