import { fileURLToPath } from "node:url";
import { Project, ts } from "ts-morph";

/** Parses the files and everything that they import. */
export function createProgram(files: readonly string[]): ts.Program {
  const project = new Project({
    compilerOptions: {
      target: ts.ScriptTarget.ES2024,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      lib: ["lib.es2024.d.ts"],
      types: ["node"],
      typeRoots: [fileURLToPath(new URL("../../node_modules/@types", import.meta.url))],
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      noEmit: true,
    },
    skipFileDependencyResolution: true,
  });
  project.addSourceFilesAtPaths([...files]);
  return project.getProgram().compilerObject;
}

export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

export function createProblem(node: ts.Node, text: string): Problem {
  const source = node.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return { file: source.fileName, line: line + 1, text };
}

/** Calls `visit` with every node below this one. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  ts.forEachChild(node, (child) => {
    visit(child);
    walk(child, visit);
  });
}

/** The call signatures of a type; of a union, those of all members. */
export function listSignatures(checker: ts.TypeChecker, type: ts.Type): readonly ts.Signature[] {
  const known = checker.getNonNullableType(type);
  return known.isUnion()
    ? known.types.flatMap((member) => member.getCallSignatures())
    : known.getCallSignatures();
}
