import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { CommandContext } from "./command-analysis/command-context.ts";
import type { ToolContext } from "./tool-context.ts";

/** The number of parent folders that are tried for a missing one. */
const MAX_LEVELS = 32;

/** The working directory of a command, and the folders that need an approval. */
export function buildCommandContext(
  {
    deniedFolders,
    allowedFolders,
    environment,
  }: Pick<ToolContext, "deniedFolders" | "allowedFolders" | "environment">,
  cwd: string,
  isCwdUnsure = false,
): CommandContext {
  return {
    cwd,
    isCwdUnsure,
    homes: addRealPaths(deniedFolders),
    workspaces: addRealPaths(allowedFolders),
    ...(environment.HOME !== undefined && { userHome: environment.HOME }),
    realPath: resolveRealPath,
  };
}

function addRealPaths(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap((path) => [path, resolveRealPath(path) ?? path]))];
}

/** Follows links as far as the path exists, and appends the rest. */
function resolveRealPath(path: string): string | undefined {
  let rest = "";
  for (let above = path, level = 0; level < MAX_LEVELS; level += 1) {
    try {
      return join(realpathSync.native(above), rest);
    } catch {
      // For any error the path counts as missing.
      if (dirname(above) === above) return undefined;
      rest = join(basename(above), rest);
      above = dirname(above);
    }
  }
  return undefined;
}
