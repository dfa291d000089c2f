import { ts } from "ts-morph";
import type { Steps } from "./find-steps.ts";
import { walk } from "./program.ts";

/**
 * The files that need a twin: those with steps, those that use a type with steps, and those that import code from one of
 * them. The others are the same for both, and the twin imports them.
 */
export function findAffectedFiles(
  program: ts.Program,
  sources: readonly ts.SourceFile[],
  { functions, calls }: Steps,
): Set<ts.SourceFile> {
  const checker = program.getTypeChecker();
  const files = new Set<ts.SourceFile>();
  /** Top-level statements that contain a step or refer to one of these. */
  const statements = new Set<ts.Node>();
  const add = (statement: ts.Node): void => {
    statements.add(statement);
    files.add(statement.getSourceFile());
  };
  for (const node of [...functions, ...calls]) add(findStatement(node));
  let size: number;
  do {
    size = statements.size;
    for (const source of sources)
      for (const statement of source.statements)
        if (!statements.has(statement) && isAffected(statement)) add(statement);
  } while (statements.size > size);
  return files;

  function isAffected(statement: ts.Statement): boolean {
    let found = false;
    walk(statement, (node) => {
      if (found) return;
      if (ts.isIdentifier(node))
        found = listDeclarations(node).some((one) => statements.has(findStatement(one)));
      else if (ts.isStringLiteral(node) && isValueImport(node)) found = importsAffected(node);
    });
    return found;
  }

  function listDeclarations(node: ts.Identifier): readonly ts.Declaration[] {
    const symbol = checker.getSymbolAtLocation(node);
    if (symbol === undefined) return [];
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return target.declarations?.filter((one) => !ts.isSourceFile(one)) ?? [];
  }

  function importsAffected(specifier: ts.StringLiteral): boolean {
    const target = checker.getSymbolAtLocation(specifier)?.declarations?.find(ts.isSourceFile);
    return target !== undefined && files.has(target);
  }
}

function findStatement(node: ts.Node): ts.Node {
  let statement = node;
  while (statement.parent !== undefined && !ts.isSourceFile(statement.parent)) statement = statement.parent;
  return statement;
}

/** Whether a string names a module that is loaded at run time. */
function isValueImport(node: ts.StringLiteral): boolean {
  const { parent } = node;
  if (ts.isImportDeclaration(parent)) return !isTypeOnly(parent.importClause);
  if (ts.isExportDeclaration(parent)) return !parent.isTypeOnly;
  return ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.ImportKeyword;
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  const names = clause.namedBindings;
  const areTypes =
    names !== undefined && ts.isNamedImports(names) && names.elements.every(({ isTypeOnly }) => isTypeOnly);
  return clause.isTypeOnly || (clause.name === undefined && areTypes);
}
