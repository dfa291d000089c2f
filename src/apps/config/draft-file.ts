import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Writes a file of another name beside it, readable by its owner alone, and on the disk when this returns its path. */
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

/** Drafts that never took the file's place. */
export function listDraftFiles(file: string): string[] {
  const names = readdirSync(dirname(file)).filter(
    (name) => name.startsWith(`${basename(file)}.`) && name.endsWith(".new"),
  );
  return names.map((name) => join(dirname(file), name));
}

/** The file has the old text or the new one, whatever happens in between. */
export function commitDraftFile(file: string, draft: string): void {
  renameSync(draft, file);
  if (process.platform === "win32") return; // a folder cannot be opened there
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
