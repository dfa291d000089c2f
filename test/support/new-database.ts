import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "../../src/stores/sqlite/store.ts";
import { temporaryFolder } from "./folder.ts";

let bytes: Promise<Buffer> | undefined;

/** Writes a copy of a new database. To create one takes seven times as long as to open a copy. */
export async function writeNewDatabase(file: string): Promise<void> {
  bytes ??= createDatabase();
  writeFileSync(file, await bytes, { mode: 0o600, flag: "wx" });
}

async function createDatabase(): Promise<Buffer> {
  const folder = temporaryFolder();
  try {
    const file = join(folder.path, "postrider.db");
    await (await sqliteStore({ file, mode: "in-process" })).close();
    return readFileSync(file);
  } finally {
    folder.remove();
  }
}
