import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Home } from "../home.ts";
import type { ConfigProblem } from "./config-problem.ts";
import type { LayerValues } from "./layers.ts";

/** Settings with folders for agents. */
const WORK_FOLDERS = ["tools.workspace", "tools.folder", "tools.folders"];

/** Agents must work outside the home, because it contains all conversations and the tokens. */
export function findFoldersInHome(values: LayerValues, { folder }: Pick<Home, "folder">): ConfigProblem[] {
  const home = resolveReal(resolve(folder));
  return WORK_FOLDERS.flatMap((key): ConfigProblem[] => {
    const found = values.get(key);
    if (found === undefined) return [];
    const inside = [found.value].flat().find((path) => isWithin(home, resolveReal(String(path))));
    if (inside === undefined) return [];
    const text = `must be outside Postrider's home ${folder}; ${inside} is inside`;
    const { origin } = found;
    if (origin.from === "environment") return [{ variable: origin.variable, key, text }];
    return [{ ...(origin.from === "file" && { file: origin.file, line: origin.line }), key, text }];
  });
}

function isWithin(home: string, path: string): boolean {
  const from = relative(home, path);
  return from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}

/** Follows links as far as the path exists. */
function resolveReal(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(resolveReal(above), basename(path));
  }
}
