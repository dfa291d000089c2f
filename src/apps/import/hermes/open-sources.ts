import { relative } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { HermesSources } from "./find-sources.ts";
import { type ProblemReporter, shortenName } from "./import-problem.ts";
import { type HermesIndex, readIndex } from "./index-file.ts";
import type { InstantReader } from "./instant-reader.ts";
import { KNOWN_SCHEMA_VERSION, openStateDatabase, type StateDatabase } from "./state-database.ts";

/** Opens the index. An unreadable index is reported and counts as empty; the sessions do not need it. */
export function openHermesIndex(
  { path, index }: HermesSources,
  readInstant: InstantReader,
  tell: ProblemReporter,
): HermesIndex {
  if (index === undefined) return { entries: [], broken: [] };
  const file = relative(path, index);
  try {
    const read = readIndex(index, readInstant);
    for (const { key, why } of read.broken)
      tell({ kind: "corrupt", file, why: `${shortenName(key)}: ${why}` });
    return read;
  } catch (error) {
    if (error instanceof PostriderError && error.details.kind !== undefined) throw error;
    const why = `the index cannot be read, so no chat continues: ${(error as Error).message}`;
    tell({ kind: "file", file, why });
    return { entries: [], broken: [] };
  }
}

/** Opens the database. An unreadable one is reported and `undefined`, if there are other sources. */
export function openHermesDatabase(
  { path, database: file, transcripts, index }: HermesSources,
  tell: ProblemReporter,
): StateDatabase | undefined {
  if (file === undefined) return undefined;
  const name = relative(path, file) || file;
  try {
    const database = openStateDatabase(file);
    const { version, damage } = database;
    if (damage !== undefined)
      tell({ kind: "file", file: name, why: `parts of it cannot be read: ${damage}` });
    if (version !== undefined && version > KNOWN_SCHEMA_VERSION) {
      const why = `schema ${version} is newer than ${KNOWN_SCHEMA_VERSION}: unknown columns are kept unchanged`;
      tell({ kind: "newer", file: name, why });
    }
    return database;
  } catch (error) {
    const isAll = transcripts.size === 0 && index === undefined;
    if (
      isAll ||
      !(error instanceof PostriderError) ||
      error.code !== "corrupt" ||
      error.details.kind !== undefined
    )
      throw error;
    tell({ kind: "file", file: name, why: error.message });
    return undefined;
  }
}
