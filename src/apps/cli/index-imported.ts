import { indexPending } from "../../stores/sqlite/upkeep/index-pending.ts";
import type { Io } from "./io.ts";
import { createProgress } from "./progress.ts";

/** What was imported can be searched when the import is over, not only when another process has had time for it. */
export function indexImported(io: Io, database: string): void {
  const progress = createProgress(io, "Indexing");
  try {
    indexPending(database, { onProgress: progress.update });
  } finally {
    progress.end();
  }
}
