import { existsSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import type { Mutation } from "./mutation.ts";

/** Why entries of the list no longer apply to the tree; nothing if all do. Runs no test. */
export function findStale(root: string, mutations: readonly Mutation[]): readonly string[] {
  const seen = new Set<string>();
  return mutations.flatMap((mutation) => {
    const { file, find, replace } = mutation;
    const name = JSON.stringify([file, find, replace]);
    const problems = [...(seen.has(name) ? ["is in the list twice"] : []), ...problemsOf(root, mutation)];
    seen.add(name);
    return problems.map((problem) => `${file}: ${JSON.stringify(find)} ${problem}`);
  });
}

function problemsOf(root: string, mutation: Mutation): readonly string[] {
  const { file, find, replace, noticedBy, test } = mutation;
  if (!existsSync(join(root, file))) return ["names a file that does not exist"];
  const source = readFileSync(join(root, file), "utf8");
  const count = source.split(find).length - 1;
  const missing = noticedBy.filter((name) => !existsSync(join(root, name)));
  const isKnown = (name: string): boolean => readFileSync(join(root, name), "utf8").includes(test ?? "");
  return [
    ...(count === 1 ? [] : [`occurs ${count} times and must occur once`]),
    ...(find === replace ? ["changes nothing"] : []),
    ...(find.includes("\n") ? ["spans several lines"] : []),
    ...(noticedBy.length === 0 ? ["names no test"] : []),
    ...missing.map((name) => `names ${name}, which does not exist`),
    ...(missing.length > 0 || noticedBy.some(isKnown) ? [] : [`names a test that no file holds: ${test}`]),
    ...(count === 1 && !canBeParsed(source.replace(find, () => replace))
      ? ["does not parse when replaced"]
      : []),
  ];
}

function canBeParsed(source: string): boolean {
  try {
    stripTypeScriptTypes(source);
    return true;
  } catch {
    return false;
  }
}
