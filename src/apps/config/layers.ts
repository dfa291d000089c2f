import type { Home } from "../home.ts";
import {
  type ConfigFileText,
  getHomeConfigFile,
  getProjectConfigFile,
  readConfigText,
} from "./config-files.ts";
import { type ConfigProblem, formatKeyName } from "./config-problem.ts";
import { findFoldersInHome } from "./folders-in-home.ts";
import { checkConfig, checkValue } from "./schema.ts";
import { findSetting, isHomeOnly, SETTINGS, type SettingValue } from "./settings.ts";
import { isRawList, type RawMapping, type RawValue, readYaml } from "./yaml-text.ts";

/** The origin of a value. */
export type SettingOrigin =
  | { readonly from: "default" }
  | { readonly from: "file"; readonly file: string; readonly line: number }
  | { readonly from: "environment"; readonly variable: string };

export interface LayerValue {
  readonly value: SettingValue;
  readonly origin: SettingOrigin;
}

/** Values by key. */
export type LayerValues = ReadonlyMap<string, LayerValue>;

export interface Layer {
  readonly values: LayerValues;
  readonly problems: readonly ConfigProblem[];
}

/** The places of the configuration. */
export interface ConfigLocation {
  readonly home: Home;
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
}

export interface Layers extends Layer {
  /** The values of the files, without the environment. */
  readonly fromFiles: LayerValues;
  readonly files: readonly { readonly file: string; readonly found: boolean }[];
  /** The home's file contains a secret and other users can read it. */
  readonly exposed: boolean;
}

/** Reads all values and problems. The environment overrides the home's file, which overrides the project's. */
export function readLayers({ home, cwd, environment }: ConfigLocation): Layers {
  const files = [
    { file: getProjectConfigFile(cwd), role: "project" as const },
    { file: getHomeConfigFile(home), role: "home" as const },
  ].map((one) => ({ ...one, text: readConfigText(one.file) }));
  const layers = files.map(({ file, role, text }) => readFileLayer(file, text, role));
  const environmentLayer = readEnvironmentLayer(environment);
  const all = [...layers, environmentLayer];
  const fromFiles = new Map(layers.flatMap(({ values }) => [...values]));
  const own = files.find(({ role }) => role === "home");
  return {
    values: new Map([...fromFiles, ...environmentLayer.values]),
    fromFiles,
    problems: all.flatMap(({ problems, values }) => [...problems, ...findFoldersInHome(values, home)]),
    files: files.map(({ file, text }) => ({ file, found: text.state !== "absent" })),
    exposed: own?.text.state === "read" && own.text.exposed && hasSecret(layers.at(-1)?.values ?? new Map()),
  };
}

function hasSecret(values: LayerValues): boolean {
  return [...values.keys()].some((key) => findSetting(key.split("."))?.secret === true);
}

/** Reads the values of one file. */
export function readFileLayer(file: string, source: ConfigFileText, role: "home" | "project"): Layer {
  if (source.state === "absent") return { values: new Map(), problems: [] };
  if (source.state === "unreadable") return { values: new Map(), problems: [source.problem] };
  return parseTextLayer(file, source.text, role);
}

export function parseTextLayer(file: string, text: string, role: "home" | "project"): Layer {
  const yaml = readYaml(text);
  if (yaml.problems.length > 0)
    return { values: new Map(), problems: yaml.problems.map((problem) => ({ file, ...problem })) };
  const { root, refused } = role === "project" ? dropHomeOnly(yaml.root) : { root: yaml.root, refused: [] };
  const { values, problems } = checkConfig(root);
  return {
    values: new Map(
      [...values].map(([key, value]) => [
        key,
        { value, origin: { from: "file", file, line: yaml.locate(key.split(".")).line } } as const,
      ]),
    ),
    problems: [
      ...refused.map((path) => ({
        file,
        ...yaml.locate(path),
        key: path.map(formatKeyName).join("."),
        text: "is not allowed in a project's file; set it in the home's config.yaml",
        ignored: true as const,
      })),
      ...problems.map(({ path, problem }) => ({ file, ...yaml.locate(path), ...problem })),
    ].toSorted((a, b) => a.line - b.line),
  };
}

/** Removes the settings that a project's file must not have, and returns their paths. */
function dropHomeOnly(root: RawMapping): {
  readonly root: RawMapping;
  readonly refused: readonly (readonly string[])[];
} {
  const refused: (readonly string[])[] = [];
  const without = (mapping: RawMapping, above: readonly string[]): RawMapping =>
    Object.fromEntries(
      Object.entries(mapping).flatMap(([name, below]): [string, RawValue][] => {
        const path = [...above, name];
        if (isHomeOnly(path)) {
          refused.push(path);
          return [];
        }
        const isMapping = below !== null && typeof below === "object" && !isRawList(below);
        return [[name, isMapping ? without(below, path) : below]];
      }),
    );
  return { root: without(root, []), refused };
}

/** Reads the values of the environment. An empty variable counts as unset. */
export function readEnvironmentLayer(environment: NodeJS.ProcessEnv): Layer {
  const values = new Map<string, LayerValue>();
  const problems: ConfigProblem[] = [];
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
