import { z } from "zod";
import { nearestName } from "../../core/command-grammar.ts";
import { SETTINGS, type Setting, settingAt, type Value } from "./keys.ts";
import { unknownKey } from "./nearest-key.ts";
import { type Problem, shown, shownKey } from "./problem.ts";
import { expected, NAME, nearestTool, valueSchema } from "./values.ts";
import { isList, type Raw, type RawMapping } from "./yaml-text.ts";

/** What one file sets, by key, and everything that is wrong with it, by path. */
export interface Checked {
  readonly values: ReadonlyMap<string, Value>;
  readonly wrong: readonly { readonly path: readonly string[]; readonly problem: Problem }[];
}

/** The whole of a file. Whatever is wrong is found at once. */
export function checkRoot(root: RawMapping): Checked {
  const result = schemaOf(tree(), root).safeParse(root, { jitless: true });
  if (result.success) return { values: new Map(leaves(result.data)), wrong: [] };
  return { values: new Map(), wrong: result.error.issues.flatMap((issue) => problemsOf(root, issue)) };
}

/** One value on its own, as a variable or a person gives it. */
export function checkValue(
  setting: Setting,
  raw: Raw,
): { readonly value: Value } | { readonly text: string } {
  const result = valueSchema(setting.kind).safeParse(raw);
  return result.success ? { value: result.data } : { text: wrongValue(setting, raw) };
}

type Tree = Map<string, Tree | Setting>;

let known: Tree | undefined;

function tree(): Tree {
  if (known !== undefined) return known;
  known = new Map();
  for (const setting of SETTINGS) {
    const path = setting.key.split(".");
    let at = known;
    for (const name of path.slice(0, -1)) {
      const below = at.get(name);
      const next: Tree = below instanceof Map ? below : new Map();
      at.set(name, next);
      at = next;
    }
    at.set(path.at(-1) ?? "", setting);
  }
  return known;
}

/** Of all that may stand there, what does: making a schema of two hundred settings takes longer than reading the file. */
function schemaOf(below: Tree | Setting, raw: Raw): z.ZodType {
  if (!(below instanceof Map)) return valueSchema(below.kind);
  const given = raw !== null && typeof raw === "object" && !isList(raw) ? raw : {};
  const any = below.get("*");
  if (any !== undefined) {
    const all: RawMapping = Object.fromEntries(
      Object.values(given).flatMap((one) =>
        one !== null && typeof one === "object" ? Object.entries(one) : [],
      ),
    );
    // A name that differs by one slip from a common one is more likely that one than something of its own.
    return z.record(z.string().regex(NAME).refine(isNoSlip), schemaOf(any, all).nullish());
  }
  const present = [...below].filter(([name]) => Object.hasOwn(given, name));
  return z.strictObject(
    Object.fromEntries(present.map(([name, next]) => [name, schemaOf(next, given[name] ?? null).nullish()])),
  );
}

const CHAT_TYPES = ["dm", "group", "channel", "thread", "forum", "webhook"];

function isNoSlip(name: string): boolean {
  return CHAT_TYPES.includes(name) || name.length < 4 || nearestName(CHAT_TYPES, name) === undefined;
}

function leaves(value: unknown, path: readonly string[] = []): [string, Value][] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object" || Array.isArray(value)) return [[path.join("."), value as Value]];
  return Object.entries(value).flatMap(([name, below]) => leaves(below, [...path, name]));
}

function problemsOf(root: RawMapping, issue: z.core.$ZodIssue): Checked["wrong"] {
  const path = issue.path.map(String);
  const at = (where: readonly string[], text: string) => ({
    path: where,
    problem: { key: where.map(shownKey).join("."), text },
  });
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((name) => at([...path, name], unknownKey([...path, name])));
  }
  if (issue.code === "invalid_key") {
    const near = nearestName(CHAT_TYPES, path.at(-1) ?? "");
    const hint = near === undefined || !NAME.test(path.at(-1) ?? "") ? "" : `; did you mean ${near}?`;
    return [
      at(
        path,
        hint === "" ? "must be a name of lower-case letters, digits, - and _" : `is no kind of chat${hint}`,
      ),
    ];
  }
  const setting = settingAt(path);
  const raw = rawAt(root, path);
  if (setting === undefined) return [at(path, `must hold settings of its own, not ${shown(raw)}`)];
  const own = path.slice(0, setting.key.split(".").length);
  return [{ path, problem: { key: own.join("."), text: wrongValue(setting, rawAt(root, own)) } }];
}

function wrongValue(setting: Setting, raw: Raw): string {
  // An address may hold a password.
  const isHidden = setting.secret === true || setting.kind.type === "address";
  const near = nearestTool(setting, raw);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return `must be ${expected(setting)}${isHidden ? "" : `, not ${shown(raw)}`}${hint}`;
}

function rawAt(root: Raw, path: readonly string[]): Raw {
  const [name, ...rest] = path;
  if (name === undefined || root === null || typeof root !== "object") return root;
  const below = Object.hasOwn(root, name) ? (root as RawMapping)[name] : undefined;
  return below === undefined ? null : rawAt(below, rest);
}
