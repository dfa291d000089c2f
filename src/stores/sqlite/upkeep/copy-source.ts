import { resolve } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { CopySource } from "../../copy/copy-end.ts";
import { openWriter } from "../connection.ts";
import { retryBusy, toStoreError } from "../store-errors.ts";
import { createSqliteRows } from "./copy-rows.ts";
import { hasFile } from "./files.ts";

/** Opens a database to copy it. The lock of a writer keeps every other process from changing it meanwhile. */
export function openSqliteSource(path: string): CopySource {
  const file = resolve(path);
  if (!hasFile(file))
    throw new PostriderError("not_found", `There is no database ${file}.`, { details: { file } });
  const db = openWriter({ file });
  try {
    retryBusy(() => db.exec("begin immediate"));
    return {
      ...createSqliteRows(db),
      async close() {
        db.close();
      },
    };
  } catch (error) {
    db.close();
    throw toStoreError(error, file);
  }
}
