import { ts } from "ts-morph";
import type { Steps } from "./find-steps.ts";
import { listSignatures } from "./program.ts";

export interface TwinOptions {
  readonly checker: ts.TypeChecker;
  readonly steps: Steps;
  /** The new specifier of a relative import. */
  readonly mapImport: (specifier: ts.StringLiteralLike) => string;
  /** The module with the array helpers. */
  readonly arrays: string;
  readonly header: string;
}

/** The text of a file's twin. Every line keeps its number, so that errors and stack traces point to the source, too. */
export function renderTwin(source: ts.SourceFile, options: TwinOptions): string {
  const { checker, steps, mapImport, arrays, header } = options;
  const text = source.text;
  const helpers = new Set<string>();

  const body = render(source);
  const imports = [...helpers].sort().join(", ");
  return `/* ${header} */ ${imports === "" ? "" : `import { ${imports} } from "${arrays}"; `}${body}`;

  function render(node: ts.Node): string {
    if (ts.isStringLiteral(node) && isSpecifier(node)) return JSON.stringify(mapImport(node));
    if (steps.arrayCalls.has(node)) return addAwait(node, renderArrayCall(node as ts.CallExpression));
    const inner = renderChildren(node);
    if (steps.calls.has(node)) return addAwait(node, inner);
    return isReturnTypeOfStep(node) ? `Awaited<${inner}>` : inner;
  }

  function renderChildren(node: ts.Node): string {
    const isStep = steps.functions.has(node);
    const asyncAt = isStep && "body" in node && node.body !== undefined ? findAsyncPosition(node) : undefined;
    let result = "";
    let position = ts.isSourceFile(node) ? 0 : node.getStart(source);
    const copyUntil = (end: number): void => {
      if (asyncAt !== undefined && position <= asyncAt && asyncAt < end)
        result += `${text.slice(position, asyncAt)}async ${text.slice(asyncAt, end)}`;
      else result += text.slice(position, end);
      position = end;
    };
    ts.forEachChild(node, (child) => {
      const start = child.getStart(source);
      copyUntil(start);
      if (asyncAt === start) result += "async ";
      const isReturnType = isStep && (node as ts.SignatureDeclaration).type === child;
      result += isReturnType ? `Promise<${render(child)}>` : render(child);
      position = child.end;
    });
    copyUntil(node.end);
    return result;
  }

  /** `async` stands before the keyword `function`, the name of a method or the parameters of an arrow function. */
  function findAsyncPosition(node: ts.Node): number {
    const modifiers = ts.canHaveModifiers(node) ? (node.modifiers ?? []) : [];
    const from = modifiers.at(-1)?.end ?? node.getStart(source);
    return from + (/^\s*/.exec(text.slice(from, node.end))?.[0].length ?? 0);
  }

  function renderArrayCall(call: ts.CallExpression): string {
    const callee = call.expression as ts.PropertyAccessExpression;
    const helper = `${callee.name.text}InOrder`;
    helpers.add(helper);
    const first = call.arguments[0]?.getStart(source) ?? call.end;
    // Comments and line breaks between the array and the callback stay.
    const gap = text.slice(callee.expression.end, first).replace(/\.\s*\w+\s*\(/, ", ");
    const values = call.arguments.map((argument) => render(argument));
    const breaks = text.slice(call.arguments.at(-1)?.end, call.end);
    return `${helper}(${render(callee.expression)}${gap}${values.join(", ")}${breaks}`;
  }

  function addAwait(node: ts.Node, inner: string): string {
    return needsParentheses(node) ? `(await ${inner})` : `await ${inner}`;
  }

  function isReturnTypeOfStep(node: ts.Node): boolean {
    if (!ts.isTypeReferenceNode(node) || node.typeName.getText(source) !== "ReturnType") return false;
    const [argument] = node.typeArguments ?? [];
    if (argument === undefined) return false;
    return listSignatures(checker, checker.getTypeFromTypeNode(argument)).some(
      ({ declaration }) => declaration !== undefined && steps.functions.has(declaration),
    );
  }
}

/** Whether a string is the specifier of a relative import. */
function isSpecifier(node: ts.StringLiteral): boolean {
  const { parent } = node;
  if (!node.text.startsWith(".")) return false;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) return true;
  if (ts.isLiteralTypeNode(parent)) return ts.isImportTypeNode(parent.parent);
  return ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.ImportKeyword;
}

/** Whether `await` before this expression would bind to too much. */
function needsParentheses(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isNonNullExpression(parent)) return true;
  if (ts.isBinaryExpression(parent))
    return parent.operatorToken.kind === ts.SyntaxKind.AsteriskAsteriskToken && parent.left === node;
  const isReceiver =
    ts.isPropertyAccessExpression(parent) ||
    ts.isElementAccessExpression(parent) ||
    ts.isCallExpression(parent) ||
    ts.isNewExpression(parent);
  if (isReceiver) return parent.expression === node;
  return ts.isTaggedTemplateExpression(parent) && parent.tag === node;
}
