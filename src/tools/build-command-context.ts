import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { CommandContext } from "./command-analysis/command-context.ts";
import type { ToolContext } from "./tool-context.ts";

/** So many folders above one that is not there are tried. */
const MOST_LEVELS = 32;

/** Where a command of this turn runs, and which folders it must not reach without being asked about. */
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

/** Links followed as far as there is something; the rest as it is written. */
function resolveRealPath(path: string): string | undefined {
  let rest = "";
  for (let above = path, level = 0; level < MOST_LEVELS; level += 1) {
    try {
      return join(realpathSync.native(above), rest);
    } catch {
      // Whatever the reason: nothing is known but where it would be.
      if (dirname(above) === above) return undefined;
      rest = join(basename(above), rest);
      above = dirname(above);
    }
  }
  return undefined;
}
