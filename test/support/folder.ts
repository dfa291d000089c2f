import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An empty folder of its own, and how to remove it, with the workspaces beside it if it was a home. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "postrider-test-"));
  const remove = (): void => {
    for (const folder of [path, `${path}.workspace`]) rmSync(folder, { recursive: true, force: true });
  };
  return { path, remove };
}
