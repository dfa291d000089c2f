import { z } from "zod";
import { findNearestName } from "../../core/command-grammar.ts";
import { type ConfigProblem, formatKeyName, formatRawValue } from "./config-problem.ts";
import { describeUnknownKey } from "./nearest-key.ts";
import { findSetting, SETTINGS, type Setting, type SettingValue } from "./settings.ts";
import { buildValueSchema, describeExpectedValue, findNearestTool, NAME_PATTERN } from "./value-schema.ts";
import { isRawList, type RawMapping, type RawValue } from "./yaml-text.ts";

/** The values of one file by key, and its problems by path. */
export interface CheckedConfig {
  readonly values: ReadonlyMap<string, SettingValue>;
  readonly problems: readonly { readonly path: readonly string[]; readonly problem: ConfigProblem }[];
}

/** Checks a whole file and finds all problems at once. */
export function checkConfig(root: RawMapping): CheckedConfig {
  const result = buildSchema(getSettingTree(), root).safeParse(root, { jitless: true });
  if (result.success) return { values: new Map(listLeaves(result.data)), problems: [] };
  return {
    values: new Map(),
    problems: result.error.issues.flatMap((issue) => toConfigProblems(root, issue)),
  };
}

/** Checks one value of a variable or an argument. */
export function checkValue(
  setting: Setting,
  raw: RawValue,
): { readonly value: SettingValue } | { readonly text: string } {
  const result = buildValueSchema(setting.kind).safeParse(raw);
  return result.success ? { value: result.data } : { text: describeWrongValue(setting, raw) };
}

type SettingTree = Map<string, SettingTree | Setting>;

let cachedTree: SettingTree | undefined;

function getSettingTree(): SettingTree {
  if (cachedTree !== undefined) return cachedTree;
  cachedTree = new Map();
  for (const setting of SETTINGS) {
    const path = setting.key.split(".");
    let at = cachedTree;
    for (const name of path.slice(0, -1)) {
      const below = at.get(name);
      const next: SettingTree = below instanceof Map ? below : new Map();
      at.set(name, next);
      at = next;
    }
    at.set(path.at(-1) ?? "", setting);
  }
  return cachedTree;
}

/** Builds a schema only for the settings in the file, because one for all settings takes longer than the read. */
function buildSchema(below: SettingTree | Setting, raw: RawValue): z.ZodType {
  if (!(below instanceof Map)) return buildValueSchema(below.kind);
  const given = raw !== null && typeof raw === "object" && !isRawList(raw) ? raw : {};
  const any = below.get("*");
  if (any !== undefined) {
    const all: RawMapping = Object.fromEntries(
      Object.values(given).flatMap((one) =>
        one !== null && typeof one === "object" ? Object.entries(one) : [],
      ),
    );
    // A name that is one typo away from a known one is probably that one.
    return z.record(z.string().regex(NAME_PATTERN).refine(isNotTypo), buildSchema(any, all).nullish());
  }
  const present = [...below].filter(([name]) => Object.hasOwn(given, name));
  return z.strictObject(
    Object.fromEntries(
      present.map(([name, next]) => [name, buildSchema(next, given[name] ?? null).nullish()]),
    ),
  );
}

const CHAT_TYPES = ["dm", "group", "channel", "thread", "forum", "webhook"];

function isNotTypo(name: string): boolean {
  return CHAT_TYPES.includes(name) || name.length < 4 || findNearestName(CHAT_TYPES, name) === undefined;
}

function listLeaves(value: unknown, path: readonly string[] = []): [string, SettingValue][] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object" || Array.isArray(value)) return [[path.join("."), value as SettingValue]];
  return Object.entries(value).flatMap(([name, below]) => listLeaves(below, [...path, name]));
}

function toConfigProblems(root: RawMapping, issue: z.core.$ZodIssue): CheckedConfig["problems"] {
  const path = issue.path.map(String);
  const at = (where: readonly string[], text: string) => ({
    path: where,
    problem: { key: where.map(formatKeyName).join("."), text },
  });
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((name) => at([...path, name], describeUnknownKey([...path, name])));
  }
  if (issue.code === "invalid_key") {
    const near = findNearestName(CHAT_TYPES, path.at(-1) ?? "");
    const hint = near === undefined || !NAME_PATTERN.test(path.at(-1) ?? "") ? "" : `; did you mean ${near}?`;
    return [
      at(
        path,
        hint === "" ? "must be a name of lower-case letters, digits, - and _" : `is not a chat type${hint}`,
      ),
    ];
  }
  const setting = findSetting(path);
  const raw = getRawAt(root, path);
  if (setting === undefined) return [at(path, `must be a section with settings, not ${formatRawValue(raw)}`)];
  const own = path.slice(0, setting.key.split(".").length);
  return [{ path, problem: { key: own.join("."), text: describeWrongValue(setting, getRawAt(root, own)) } }];
}

function describeWrongValue(setting: Setting, raw: RawValue): string {
  // An address may contain a password.
  const isHidden = setting.secret === true || setting.kind.type === "address";
  const near = findNearestTool(setting, raw);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return `must be ${describeExpectedValue(setting)}${isHidden ? "" : `, not ${formatRawValue(raw)}`}${hint}`;
}

function getRawAt(root: RawValue, path: readonly string[]): RawValue {
  const [name, ...rest] = path;
  if (name === undefined || root === null || typeof root !== "object") return root;
  const below = Object.hasOwn(root, name) ? (root as RawMapping)[name] : undefined;
  return below === undefined ? null : getRawAt(below, rest);
}
