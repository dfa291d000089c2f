import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new empty folder. `remove` also deletes the workspace next to it, if it was a home. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "postrider-test-"));
  const remove = (): void => {
    // A process that was just killed may still have created a file.
    for (const folder of [path, `${path}.workspace`])
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 10 });
  };
  return { path, remove };
}
