import { relative } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { HermesSources } from "./find-sources.ts";
import { type ProblemReporter, shortenName } from "./import-problem.ts";
import { type HermesIndex, readIndex } from "./index-file.ts";
import type { InstantReader } from "./instant-reader.ts";
import { KNOWN_SCHEMA_VERSION, openStateDatabase, type StateDatabase } from "./state-database.ts";

/** The index; empty, and told, when it cannot be read: the sessions are there without it. */
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
    const why = `the index cannot be read, so no chat goes on where it was: ${(error as Error).message}`;
    tell({ kind: "file", file, why });
    return { entries: [], broken: [] };
  }
}

/** The database; `undefined`, and told, when it cannot be read and there is something else to read. */
export function openHermesDatabase(
  { path, database: file, transcripts, index }: HermesSources,
  tell: ProblemReporter,
): StateDatabase | undefined {
  if (file === undefined) return undefined;
  const name = relative(path, file) || file;
  try {
    const database = openStateDatabase(file);
    const { version, damage } = database;
    if (damage !== undefined) tell({ kind: "file", file: name, why: `not all of it can be read: ${damage}` });
    if (version !== undefined && version > KNOWN_SCHEMA_VERSION) {
      const why = `schema ${version} is newer than ${KNOWN_SCHEMA_VERSION}: columns that are not known are kept as they are`;
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
