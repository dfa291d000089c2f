import { dirname, join, relative } from "node:path";
import { ts } from "ts-morph";
import { findAffectedFiles } from "./affected-files.ts";
import { checkSource } from "./check-source.ts";
import { findSteps } from "./find-steps.ts";
import { createProgram, type Problem } from "./program.ts";
import { renderTwin } from "./render-twin.ts";

export interface TwinRequest {
  /** The folder of the source. */
  readonly from: string;
  readonly files: readonly string[];
  /** The folder of the twin; `arrays.ts` is beside it. */
  readonly to: string;
  /** Paths in messages and headers are relative to this folder. */
  readonly root: string;
}

export interface Twin {
  /** Path in the folder of the twin → text. */
  readonly outputs: ReadonlyMap<string, string>;
  /** The files outside of the source whose types were used. */
  readonly imported: readonly string[];
  readonly problems: readonly Problem[];
  readonly counts: { readonly functions: number; readonly calls: number; readonly arrayCalls: number };
}

export function buildTwin({ from, files, to, root }: TwinRequest): Twin {
  const program = createProgram(files);
  const sources = files.flatMap((file) => program.getSourceFile(file) ?? []);
  const steps = findSteps(program, sources);
  if (steps.functions.size === 0) throw new Error(`${relative(root, from)} has no interface Db`);
  const problems = [...steps.problems, ...checkSource(program, steps)];
  const affected = findAffectedFiles(program, sources, steps);
  const checker = program.getTypeChecker();
  const outputs = new Map<string, string>();
  for (const source of affected) {
    const path = relative(from, source.fileName);
    const folder = dirname(join(to, path));
    const mapImport = (specifier: ts.StringLiteralLike): string => {
      const target = checker.getSymbolAtLocation(specifier)?.declarations?.find(ts.isSourceFile);
      const file = target?.fileName ?? join(dirname(source.fileName), specifier.text);
      const isTwin = target !== undefined && affected.has(target);
      return toSpecifier(folder, isTwin ? join(to, relative(from, file)) : file);
    };
    const text = renderTwin(source, {
      checker,
      steps,
      mapImport,
      arrays: toSpecifier(folder, join(dirname(to), "arrays.ts")),
      header: `Generated from ${relative(root, source.fileName)} by scripts/make-async.ts.`,
    });
    outputs.set(path, text);
  }
  const imported = program
    .getSourceFiles()
    .map(({ fileName }) => fileName)
    .filter((file) => !file.includes("/node_modules/") && !files.includes(file));
  const { functions, calls, arrayCalls } = steps;
  const counts = { functions: functions.size, calls: calls.size, arrayCalls: arrayCalls.size };
  return { outputs, imported, problems, counts };
}

function toSpecifier(folder: string, file: string): string {
  const path = relative(folder, file).replaceAll("\\", "/");
  return path.startsWith(".") ? path : `./${path}`;
}
