import { readFileSync } from "node:fs";

/** A table of docs/json.md: the type of each field, by its path. */
export type Shape = ReadonlyMap<string, string>;

/** The tables of docs/json.md by the heading above each. */
export function documentedShapes(): ReadonlyMap<string, Shape> {
  const shapes = new Map<string, Map<string, string>>();
  let current: Map<string, string> | undefined;
  for (const line of readFileSync(new URL("../../docs/json.md", import.meta.url), "utf8").split("\n")) {
    const heading = /^##+ (.+)$/.exec(line)?.[1];
    if (heading !== undefined) {
      current = new Map();
      shapes.set(heading, current);
    }
    const [, path, type] = /^\| ([^|]+?) \| ([^|]+?) \|/.exec(line) ?? [];
    if (path === undefined || type === undefined || path === "field" || path.startsWith("---")) continue;
    if (current?.has(path)) throw new Error(`docs/json.md names ${path} twice in one table`);
    current?.set(path, type);
  }
  return shapes;
}

/** The differences between a value and its documented shape: missing fields, unknown fields and wrong types. */
export function problems(
  shapes: ReadonlyMap<string, Shape>,
  shape: Shape,
  value: unknown,
  path = "",
): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return [`${path} is not an object`];
  const fields = value as Readonly<Record<string, unknown>>;
  const names = new Set([...shape.keys()].map((field) => field.split(/\.|\[\]/)[0] ?? ""));
  const unknown = Object.keys(fields).filter((name) => !names.has(name));
  return [
    ...unknown.map((name) => `${path}.${name} is not documented`),
    ...[...names].flatMap((name) => {
      const type = shape.get(name) ?? "";
      const isOptional = type.endsWith(", optional");
      if (!Object.hasOwn(fields, name)) return isOptional ? [] : [`${path}.${name} is missing`];
      return typeProblems(
        shapes,
        shape,
        name,
        type.replace(", optional", ""),
        fields[name],
        `${path}.${name}`,
      );
    }),
  ];
}

function typeProblems(
  shapes: ReadonlyMap<string, Shape>,
  shape: Shape,
  name: string,
  type: string,
  value: unknown,
  path: string,
): string[] {
  const types = type.split(" or ");
  if (value === null && types.includes("null")) return [];
  const [main = ""] = types;
  if (main.endsWith("[]")) {
    if (!Array.isArray(value)) return [`${path} is not a list`];
    return value.flatMap((item, index) =>
      oneProblems(shapes, inside(shape, `${name}[].`), main.slice(0, -2), item, `${path}[${index}]`),
    );
  }
  return oneProblems(shapes, inside(shape, `${name}.`), main, value, path);
}

function oneProblems(
  shapes: ReadonlyMap<string, Shape>,
  more: Shape,
  type: string,
  value: unknown,
  path: string,
): string[] {
  const named = shapes.get(type);
  if (named !== undefined) return problems(shapes, new Map([...named, ...more]), value, path);
  if (type === "object" && more.size > 0) return problems(shapes, more, value, path);
  const isRight = {
    any: true,
    string: typeof value === "string",
    number: typeof value === "number" && Number.isFinite(value),
    boolean: typeof value === "boolean",
    object: typeof value === "object" && value !== null && !Array.isArray(value),
  }[type];
  if (isRight === undefined) return [`${path}: docs/json.md uses a type that it does not explain: ${type}`];
  return isRight ? [] : [`${path} is ${JSON.stringify(value)}, not ${type}`];
}

/** The rows below a field, with relative paths. */
function inside(shape: Shape, prefix: string): Shape {
  return new Map(
    [...shape]
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, type]) => [path.slice(prefix.length), type]),
  );
}
