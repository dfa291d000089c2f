import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Mutation } from "./mutation.ts";

/** A copy of the repository in a temporary folder, in which one mutation at a time is applied. */
export interface CopiedTree {
  readonly path: string;
  /** Applies the mutation while the work runs, and reverts it. */
  mutated<Result>(mutation: Mutation, work: () => Promise<Result>): Promise<Result>;
  remove(): void;
}

const LEFT_OUT: ReadonlySet<string> = new Set([".git", "node_modules", "dist", "coverage"]);

export function copyTree(root: string): CopiedTree {
  const path = mkdtempSync(join(tmpdir(), "postrider-mutants-"));
  cpSync(root, path, {
    recursive: true,
    filter: (source) => !LEFT_OUT.has(basename(source)) && !source.endsWith(".tsbuildinfo"),
  });
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"));
  return {
    path,
    async mutated({ file, find, replace }, work) {
      const before = readFileSync(join(path, file), "utf8");
      writeFileSync(
        join(path, file),
        before.replace(find, () => replace),
      );
      try {
        return await work();
      } finally {
        writeFileSync(join(path, file), before);
      }
    },
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}
