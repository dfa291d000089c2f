import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An empty folder of its own, and how to remove it, with the workspaces beside it if it was a home. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "postrider-test-"));
  const remove = (): void => {
    // A process that was just killed may have made one more file.
    for (const folder of [path, `${path}.workspace`])
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 10 });
  };
  return { path, remove };
}
