import type { Home } from "../home.ts";
import { type FileText, homeFile, projectFile, readText } from "./files.ts";
import { foldersInHome } from "./folders-in-home.ts";
import { isHomeOnly, SETTINGS, settingAt, type Value } from "./keys.ts";
import { type Problem, shownKey } from "./problem.ts";
import { checkRoot, checkValue } from "./schema.ts";
import { isList, type Raw, type RawMapping, readYaml } from "./yaml-text.ts";

/** Where a value comes from. */
export type Origin =
  | { readonly from: "default" }
  | { readonly from: "file"; readonly file: string; readonly line: number }
  | { readonly from: "environment"; readonly variable: string };

export interface Found {
  readonly value: Value;
  readonly origin: Origin;
}

/** By key. */
export type Values = ReadonlyMap<string, Found>;

export interface Layer {
  readonly values: Values;
  readonly problems: readonly Problem[];
}

/** Where configuration is looked for. */
export interface ConfigPlace {
  readonly home: Home;
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
}

export interface Layers extends Layer {
  /** The same without the environment. */
  readonly fromFiles: Values;
  readonly files: readonly { readonly file: string; readonly found: boolean }[];
  /** The home's file holds a secret and others may read it. */
  readonly exposed: boolean;
}

/** Everything that is set, the environment before the home's file before the project's, and everything that is wrong. */
export function readLayers({ home, cwd, environment }: ConfigPlace): Layers {
  const files = [
    { file: projectFile(cwd), role: "project" as const },
    { file: homeFile(home), role: "home" as const },
  ].map((one) => ({ ...one, text: readText(one.file) }));
  const layers = files.map(({ file, role, text }) => fileLayer(file, text, role));
  const around = environmentLayer(environment);
  const all = [...layers, around];
  const fromFiles = new Map(layers.flatMap(({ values }) => [...values]));
  const own = files.find(({ role }) => role === "home");
  return {
    values: new Map([...fromFiles, ...around.values]),
    fromFiles,
    problems: all.flatMap(({ problems, values }) => [...problems, ...foldersInHome(values, home)]),
    files: files.map(({ file, text }) => ({ file, found: text.state !== "absent" })),
    exposed:
      own?.text.state === "read" && own.text.exposed && holdsSecret(layers.at(-1)?.values ?? new Map()),
  };
}

function holdsSecret(values: Values): boolean {
  return [...values.keys()].some((key) => settingAt(key.split("."))?.secret === true);
}

/** What one file sets. */
export function fileLayer(file: string, given: FileText, role: "home" | "project"): Layer {
  if (given.state === "absent") return { values: new Map(), problems: [] };
  if (given.state === "unreadable") return { values: new Map(), problems: [given.problem] };
  return textLayer(file, given.text, role);
}

export function textLayer(file: string, text: string, role: "home" | "project"): Layer {
  const yaml = readYaml(text);
  if (yaml.problems.length > 0)
    return { values: new Map(), problems: yaml.problems.map((problem) => ({ file, ...problem })) };
  const { root, refused } =
    role === "project" ? withoutHomeOnly(yaml.root) : { root: yaml.root, refused: [] };
  const { values, wrong } = checkRoot(root);
  return {
    values: new Map(
      [...values].map(([key, value]) => [
        key,
        { value, origin: { from: "file", file, line: yaml.at(key.split(".")).line } } as const,
      ]),
    ),
    problems: [
      ...refused.map((path) => ({
        file,
        ...yaml.at(path),
        key: path.map(shownKey).join("."),
        text: "is never read from a project's file; write it into the home's config.yaml",
        ignored: true as const,
      })),
      ...wrong.map(({ path, problem }) => ({ file, ...yaml.at(path), ...problem })),
    ].toSorted((a, b) => a.line - b.line),
  };
}

/** The rest of a project's file, and the paths of what it may not say. */
function withoutHomeOnly(root: RawMapping): {
  readonly root: RawMapping;
  readonly refused: readonly (readonly string[])[];
} {
  const refused: (readonly string[])[] = [];
  const without = (mapping: RawMapping, above: readonly string[]): RawMapping =>
    Object.fromEntries(
      Object.entries(mapping).flatMap(([name, below]): [string, Raw][] => {
        const path = [...above, name];
        if (isHomeOnly(path)) {
          refused.push(path);
          return [];
        }
        const isMapping = below !== null && typeof below === "object" && !isList(below);
        return [[name, isMapping ? without(below, path) : below]];
      }),
    );
  return { root: without(root, []), refused };
}

/** What the environment sets. An empty variable is none. */
export function environmentLayer(environment: NodeJS.ProcessEnv): Layer {
  const values = new Map<string, Found>();
  const problems: Problem[] = [];
  for (const setting of SETTINGS) {
    const { key, variable } = setting;
    const text = variable === undefined ? undefined : environment[variable];
    if (variable === undefined || text === undefined || text.trim() === "") continue;
    const checked = checkValue(setting, text);
    if ("text" in checked) problems.push({ variable, key, text: checked.text });
    else values.set(key, { value: checked.value, origin: { from: "environment", variable } });
  }
  return { values, problems };
}
