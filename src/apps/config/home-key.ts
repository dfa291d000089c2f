import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PostriderError } from "../../core/errors.ts";
import type { Home } from "../home.ts";
import { writeDraftFile } from "./draft-file.ts";

/** The key with which strict redaction derives pseudonyms. Created on first use. */
export function loadHomeKey({ folder }: Home): string {
  const file = join(folder, "privacy.key");
  const key = readKeyFile(file) ?? createKeyFile(file);
  if (/^[0-9a-f]{64}$/.test(key)) return key;
  throw new PostriderError(
    "invalid_config",
    `${file} is not a valid key of 64 hex digits. Restore it from a backup, or delete it: people then get new pseudonyms.`,
    { details: { file } },
  );
}

function readKeyFile(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** If several processes create the key at once, only one file survives. */
function createKeyFile(file: string): string {
  const key = randomBytes(32).toString("hex");
  const draft = writeDraftFile(file, `${key}\n`);
  try {
    linkSync(draft, file);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return readKeyFile(file) ?? key;
  } finally {
    rmSync(draft, { force: true });
  }
}
