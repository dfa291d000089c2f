import { ts } from "ts-morph";
import { createProblem, listSignatures, type Problem, walk } from "./program.ts";

/**
 * Finds promises that are used like the value that they will have. Most of these pass the compiler: a promise is true as
 * a condition, and any value fits a parameter of type `unknown`, as the values of a statement.
 */
export function findMisusedPromises(program: ts.Program, sources: readonly ts.SourceFile[]): Problem[] {
  const checker = program.getTypeChecker();
  const problems: Problem[] = [];
  for (const source of sources) {
    walk(source, (node) => {
      if (!ts.isExpression(node) || ts.isPartOfTypeNode(node) || isName(node)) return;
      const type = checker.getTypeAtLocation(node);
      const text = isPromise(type) ? describePromise(node) : describeFunction(node, type);
      if (text !== undefined) problems.push(createProblem(node, text));
    });
  }
  return problems;

  /** What is wrong with this place for a promise. Only the places listed here are right. */
  function describePromise(node: ts.Expression): string | undefined {
    const { parent } = node;
    if (ts.isAwaitExpression(parent) || ts.isReturnStatement(parent) || isArrowBody(node)) return undefined;
    if (ts.isParenthesizedExpression(parent)) return undefined; // has the same type
    if (ts.isExpressionStatement(parent)) return "nothing awaits this promise";
    if (ts.isTemplateSpan(parent)) return "a promise in a template string";
    if (ts.isSpreadElement(parent) || ts.isSpreadAssignment(parent)) return "a promise is spread";
    if (isCondition(node)) return "a promise as a condition, which is always true";
    if (ts.isConditionalExpression(parent)) return undefined; // a branch: the whole has the same type
    if (ts.isBinaryExpression(parent)) return describeOperand(node, parent);
    if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return describeArgument(node, parent);
    if (ts.isPropertyAccessExpression(parent) && /^(then|catch|finally)$/.test(parent.name.text))
      return undefined;
    return "a promise is used without await";
  }

  function describeOperand(node: ts.Expression, { left, operatorToken }: ts.BinaryExpression) {
    const isBranch = /^(&&|\|\||\?\?)$/.test(operatorToken.getText()) && left !== node;
    return isBranch ? undefined : `a promise as an operand of ${operatorToken.getText()}`;
  }

  function describeArgument(node: ts.Expression, call: ts.CallExpression | ts.NewExpression) {
    if (call.expression === node || isPromiseFunction(call)) return undefined;
    return acceptsPromise(node, call)
      ? undefined
      : `a promise as an argument of ${call.expression.getText()}`;
  }

  /** The declared type counts: a type parameter would accept everything. */
  function acceptsPromise(node: ts.Expression, call: ts.CallExpression | ts.NewExpression): boolean {
    const parameters = checker.getResolvedSignature(call)?.declaration?.parameters ?? [];
    const parameter = parameters[call.arguments?.indexOf(node) ?? -1];
    if (parameter === undefined || ts.isJSDocParameterTag(parameter) || parameter.type === undefined)
      return false;
    return isPromise(checker.getTypeFromTypeNode(parameter.type));
  }

  /** A function that returns a promise must not be given where its result is used at once or ignored. */
  function describeFunction(node: ts.Expression, type: ts.Type): string | undefined {
    const { parent } = node;
    if (ts.isPropertyAccessExpression(parent) || ts.isTypeOfExpression(parent)) return undefined;
    if (!listSignatures(checker, type).some((one) => isPromise(one.getReturnType()))) return undefined;
    const expected = checker.getContextualType(node);
    const signatures = expected === undefined ? [] : listSignatures(checker, expected);
    if (signatures.length === 0 || signatures.every(returnsPromise)) return undefined;
    if (ts.isCallExpression(parent) && parent.expression !== node) {
      // Loads modules at the same time; statements never run this way.
      if (ts.isCallExpression(parent.parent) && isPromiseFunction(parent.parent)) return undefined;
      return `${parent.expression.getText().split(".").at(-1)} does not await the promise of its callback`;
    }
    return "a function that returns a promise at a place for one that does not";
  }

  /** As declared: a type parameter would accept everything. */
  function returnsPromise({ declaration }: ts.Signature): boolean {
    const type = declaration?.type;
    return type !== undefined && ts.isTypeNode(type) && isPromise(checker.getTypeFromTypeNode(type));
  }
}

function isPromise(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(isPromise);
  return /^Promise(Like)?$/.test(type.getSymbol()?.getName() ?? "");
}

/** A call of `Promise.all` or one of its siblings. */
function isPromiseFunction({ expression }: ts.CallExpression | ts.NewExpression): boolean {
  return ts.isPropertyAccessExpression(expression) && expression.expression.getText() === "Promise";
}

function isArrowBody(node: ts.Expression): boolean {
  return ts.isArrowFunction(node.parent) && node.parent.body === node;
}

function isCondition(node: ts.Expression): boolean {
  const { parent } = node;
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent) || ts.isDoStatement(parent)) return true;
  if (ts.isPrefixUnaryExpression(parent)) return parent.operator === ts.SyntaxKind.ExclamationToken;
  if (ts.isBinaryExpression(parent))
    return parent.left === node && /^(&&|\|\||\?\?)$/.test(parent.operatorToken.getText());
  if (!ts.isForStatement(parent) && !ts.isConditionalExpression(parent)) return false;
  return parent.condition === node;
}

/** Whether an expression is only the name in a declaration or of a property. */
function isName(node: ts.Expression): boolean {
  if (ts.isShorthandPropertyAssignment(node.parent)) return false;
  const { name, propertyName } = node.parent as {
    readonly name?: ts.Node;
    readonly propertyName?: ts.Node;
  };
  return name === node || propertyName === node;
}
