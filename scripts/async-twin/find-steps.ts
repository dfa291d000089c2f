import { ts } from "ts-morph";
import { createProblem, listSignatures, type Problem, walk } from "./program.ts";

/** The interface of a connection. A function whose first parameter has this type is a step. */
const CONNECTION = "Db";
/** The methods of these interfaces run statements. */
const STEP_INTERFACES: readonly string[] = [CONNECTION, "SearchIndex"];
/** The array methods that src/stores/sql-async/arrays.ts has. */
export const ARRAY_METHODS: readonly string[] = [
  "map",
  "flatMap",
  "filter",
  "find",
  "some",
  "every",
  "forEach",
  "reduce",
];

/** A step is a call that runs a statement, directly or not. */
export interface Steps {
  /** The functions and signatures that return a promise in the twin. */
  readonly functions: ReadonlySet<ts.Node>;
  /** The calls that the twin awaits. */
  readonly calls: ReadonlySet<ts.Node>;
  /** The calls of an array method with a step as its callback. */
  readonly arrayCalls: ReadonlySet<ts.Node>;
  readonly problems: readonly Problem[];
}

/** An expression that is a function, at a place that expects a function. */
interface FunctionUse {
  readonly node: ts.Expression | ts.MethodDeclaration;
  /** The declarations of the function that is given. */
  readonly given: readonly ts.Node[];
  /** The declarations of the function type that is expected; `undefined` if the type is inferred. */
  readonly expected: readonly ts.Node[] | undefined;
}

export function findSteps(program: ts.Program, sources: readonly ts.SourceFile[]): Steps {
  const checker = program.getTypeChecker();
  const sourceSet = new Set<ts.SourceFile>(sources);
  const isOwn = (node: ts.Node): boolean => sourceSet.has(node.getSourceFile());
  const functions = new Set<ts.Node>();
  const calls = new Set<ts.Node>();
  const arrayCalls = new Set<ts.Node>();
  const problems: Problem[] = [];
  /** Every call, and the declarations of the functions that it may call. */
  const candidates = new Map<ts.CallExpression, readonly ts.Node[]>();
  const uses: FunctionUse[] = [];
  const connections = new Set<ts.Node>();

  for (const source of sources) {
    for (const statement of source.statements) {
      if (!ts.isInterfaceDeclaration(statement) || !STEP_INTERFACES.includes(statement.name.text)) continue;
      if (statement.name.text === CONNECTION) connections.add(statement);
      for (const member of statement.members) markMember(member);
    }
  }
  for (const source of sources) {
    walk(source, (node) => {
      if (ts.isFunctionLike(node) && takesConnection(node)) functions.add(node);
      if (ts.isCallExpression(node)) candidates.set(node, listCallees(node));
      if (ts.isMethodDeclaration(node) || (ts.isExpression(node) && isValue(node))) addUse(node);
    });
  }
  let size: number;
  do {
    size = functions.size + calls.size + arrayCalls.size;
    for (const [call, callees] of candidates)
      if (!calls.has(call) && callees.some((callee) => functions.has(callee))) addCall(calls, call);
    for (const use of uses) followUse(use);
  } while (functions.size + calls.size + arrayCalls.size > size);
  for (const use of uses) checkUse(use);
  return { functions, calls, arrayCalls, problems };

  function markMember(member: ts.TypeElement): void {
    if (ts.isMethodSignature(member)) functions.add(member);
    if (ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type))
      functions.add(member.type);
  }

  function takesConnection(node: ts.SignatureDeclaration): boolean {
    const first = node.parameters[0];
    if (first === undefined || ts.isJSDocFunctionType(node)) return false;
    const type = checker.getNonNullableType(checker.getTypeAtLocation(first));
    return type.getSymbol()?.declarations?.some((declaration) => connections.has(declaration)) ?? false;
  }

  function listCallees(call: ts.CallExpression): readonly ts.Node[] {
    const resolved = checker.getResolvedSignature(call)?.declaration;
    if (resolved !== undefined) return [resolved];
    return listDeclarations(checker.getTypeAtLocation(call.expression));
  }

  function listDeclarations(type: ts.Type): readonly ts.Node[] {
    return listSignatures(checker, type).flatMap(({ declaration }) => declaration ?? []);
  }

  function addUse(node: FunctionUse["node"]): void {
    const given = listDeclarations(getFunctionType(node)).filter(isOwn);
    if (given.length === 0) return;
    const type = getExpectedType(node);
    const isInferred = type === undefined || (type.flags & ts.TypeFlags.TypeParameter) !== 0;
    uses.push({ node, given, expected: isInferred ? undefined : listDeclarations(type) });
  }

  function getFunctionType(node: FunctionUse["node"]): ts.Type {
    const symbol = ts.isShorthandPropertyAssignment(node.parent)
      ? checker.getShorthandAssignmentValueSymbol(node.parent)
      : undefined;
    return symbol === undefined
      ? checker.getTypeAtLocation(node)
      : checker.getTypeOfSymbolAtLocation(symbol, node);
  }

  function getExpectedType(node: FunctionUse["node"]): ts.Type | undefined {
    if (!ts.isMethodDeclaration(node)) return checker.getContextualType(node);
    if (!ts.isObjectLiteralExpression(node.parent)) return undefined;
    const property = checker.getContextualType(node.parent)?.getProperty(node.name.getText());
    return property && checker.getTypeOfSymbolAtLocation(property, node);
  }

  /** If one of the two functions is a step, the other one must be a step, too. */
  function followUse({ node, given, expected }: FunctionUse): void {
    if (expected === undefined) return;
    const isStep = given.some((one) => functions.has(one));
    const call = isStep ? findArrayCall(node) : undefined;
    if (call !== undefined && !arrayCalls.has(call)) addCall(arrayCalls, call);
    if (isStep || expected.some((one) => functions.has(one)))
      for (const one of [...given, ...expected]) if (isOwn(one)) functions.add(one);
  }

  function checkUse({ node, given, expected }: FunctionUse): void {
    if (expected === undefined || !given.some((one) => functions.has(one))) return;
    if (findArrayCall(node) !== undefined) return;
    if (expected.length === 0) {
      const text =
        "the type of this place does not say that it holds a function, so its calls cannot be awaited: give it a function type";
      problems.push(createProblem(node, text));
    } else if (!expected.every(isOwn)) {
      const name = describeReceiver(node);
      const text = `${name} calls this function without waiting for its statements: run them in a for loop, or before the call (known are ${ARRAY_METHODS.join(", ")} of an array)`;
      problems.push(createProblem(node, text));
    }
  }

  /** The call of a known array method with this callback. */
  function findArrayCall(node: ts.Node): ts.CallExpression | undefined {
    const call = node.parent;
    if (!ts.isCallExpression(call) || call.arguments[0] !== node) return undefined;
    const callee = call.expression;
    if (!ts.isPropertyAccessExpression(callee) || !ARRAY_METHODS.includes(callee.name.text)) return undefined;
    const owner = checker.getResolvedSignature(call)?.declaration?.parent;
    const isArray = owner !== undefined && ts.isInterfaceDeclaration(owner) && !isOwn(owner);
    return isArray && /^(Readonly)?Array$/.test(owner.name.text) ? call : undefined;
  }

  function addCall(set: Set<ts.Node>, call: ts.CallExpression): void {
    set.add(call);
    const owner = findOwner(call);
    if (owner !== undefined) functions.add(owner);
    else
      problems.push(
        createProblem(
          call,
          "a statement outside of a function cannot be awaited: put it into a function that takes the connection",
        ),
      );
  }
}

/** The function whose body contains this node. */
function findOwner(node: ts.Node): ts.Node | undefined {
  return ts.findAncestor(
    node.parent,
    (parent) => ts.isFunctionLike(parent) || ts.isClassStaticBlockDeclaration(parent),
  );
}

/** Whether an expression is used as a value: neither called, nor a part of a name or a type. */
function isValue(node: ts.Expression): boolean {
  const { parent } = node;
  if (ts.isArrowFunction(node) || ts.isFunctionExpression(node) || ts.isCallExpression(node))
    return !((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression === node);
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return false;
  if (ts.isPropertyAccessExpression(parent)) return false;
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return parent.expression !== node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  return !(ts.isPartOfTypeNode(node) || isDeclaredName(node));
}

/** Whether a node is the name in a declaration, an import or an export. */
function isDeclaredName(node: ts.Node): boolean {
  const { name, propertyName } = node.parent as {
    readonly name?: ts.Node;
    readonly propertyName?: ts.Node;
  };
  return name === node || propertyName === node;
}

function describeReceiver(node: ts.Node): string {
  const { parent } = node;
  return ts.isCallExpression(parent) || ts.isNewExpression(parent)
    ? (parent.expression
        .getText()
        .split(/[\s.]+/)
        .at(-1) ?? "this call")
    : "a library";
}
