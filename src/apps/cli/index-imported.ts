import { indexRest } from "../../stores/sqlite/upkeep/index-rest.ts";
import type { Io } from "./io.ts";
import { progressOn } from "./progress.ts";

/** What was imported can be searched when the import is over, not only when another process has had time for it. */
export function indexImported(io: Io, database: string): void {
  const progress = progressOn(io, "Indexing");
  try {
    indexRest(database, { onProgress: progress.at });
  } finally {
    progress.end();
  }
}
