import { ts } from "ts-morph";
import type { Steps } from "./find-steps.ts";
import { createProblem, type Problem } from "./program.ts";

/** Finds the steps that have no asynchronous form. Each problem says how to write it instead. */
export function checkSource(program: ts.Program, { functions, calls, arrayCalls }: Steps): Problem[] {
  const checker = program.getTypeChecker();
  const problems: Problem[] = [];
  const report = (node: ts.Node, text: string | undefined): void => {
    if (text !== undefined) problems.push(createProblem(node, text));
  };
  for (const node of functions) report(node, checkFunction(checker, node as ts.SignatureDeclaration));
  for (const node of [...calls, ...arrayCalls]) report(node, checkCall(node as ts.CallExpression));
  for (const node of arrayCalls) report(node, checkArrayCall(node as ts.CallExpression));
  return problems;
}

function checkFunction(checker: ts.TypeChecker, node: ts.SignatureDeclaration): string | undefined {
  if (ts.isAccessor(node) || ts.isConstructorDeclaration(node) || ts.isConstructSignatureDeclaration(node))
    return "a getter, setter or constructor cannot await a statement: write a function whose first parameter is the connection";
  if ("asteriskToken" in node && node.asteriskToken !== undefined)
    return "a generator cannot await a statement: return an array";
  if (ts.canHaveModifiers(node) && hasModifier(node, ts.SyntaxKind.AsyncKeyword))
    return "an asynchronous function here would not be one transaction: remove async; the twin gets its own";
  const { type } = node;
  if (type === undefined) return undefined;
  if (ts.isTypePredicateNode(type))
    return "a type predicate cannot await a statement: return a boolean, or the value with its narrower type";
  const name = checker.getTypeFromTypeNode(type).getSymbol()?.getName() ?? "";
  if (/^(Iterable|Iterator|Generator|IterableIterator|IteratorObject|ArrayIterator)$/.test(name))
    return "an iterator cannot await its next row: return an array";
  if (/^Promise(Like)?$/.test(name))
    return "a function that returns a promise is not synchronous: return the value; the twin gets the promise";
  return undefined;
}

function hasModifier(node: ts.HasModifiers, kind: ts.SyntaxKind): boolean {
  return node.modifiers?.some((modifier) => modifier.kind === kind) ?? false;
}

function checkCall(call: ts.CallExpression): string | undefined {
  const { parent } = call;
  const parameter = ts.findAncestor(call, (node) =>
    ts.isFunctionLike(node) ? "quit" : ts.isParameter(node),
  );
  if (parameter !== undefined)
    return "the default value of a parameter cannot await a statement: compute it in the body";
  if (ts.findAncestor(call, (node) => (ts.isFunctionLike(node) ? "quit" : ts.isPropertyDeclaration(node))))
    return "the initial value of a field cannot await a statement: compute it in a function";
  const isInChain = (call.flags & ts.NodeFlags.OptionalChain) !== 0;
  const isContinued =
    (ts.isPropertyAccessExpression(parent) ||
      ts.isElementAccessExpression(parent) ||
      ts.isCallExpression(parent)) &&
    parent.expression === call &&
    parent.questionDotToken === undefined;
  if (isInChain && isContinued)
    return "this optional chain goes on after a statement: store the result of the call in a constant first";
  return undefined;
}

function checkArrayCall(call: ts.CallExpression): string | undefined {
  const callee = call.expression as ts.PropertyAccessExpression;
  if ((call.flags & ts.NodeFlags.OptionalChain) !== 0)
    return `${callee.name.text} with statements needs an array: check for undefined first`;
  if (call.typeArguments !== undefined)
    return `${callee.name.text} with statements takes no type arguments: write the type at the callback`;
  const expected = callee.name.text === "reduce" ? 2 : 1;
  if (call.arguments.length === expected) return undefined;
  return expected === 2
    ? "reduce with statements needs an initial value"
    : `${callee.name.text} with statements takes only a callback`;
}
