import { existsSync } from "node:fs";
import { indexPending } from "../../stores/sqlite/upkeep/index-pending.ts";
import type { Io } from "./io.ts";
import { createProgress } from "./progress.ts";

/** Indexes the imported messages now, so that they can be searched right after the import. */
export function indexImported(io: Io, database: string): void {
  if (!existsSync(database)) return; // a server indexes by itself
  const progress = createProgress(io, "Indexing");
  try {
    indexPending(database, { onProgress: progress.update });
  } finally {
    progress.end();
  }
}
