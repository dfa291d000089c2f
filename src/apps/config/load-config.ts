import { chmodSync } from "node:fs";
import { buildConfig, type Config } from "./config.ts";
import { getHomeConfigFile } from "./config-files.ts";
import { createInvalidConfigError, formatConfigProblem } from "./config-problem.ts";
import { loadHomeKey } from "./home-key.ts";
import { type ConfigLocation, type Layers, readLayers } from "./layers.ts";

export interface LoadedConfig {
  readonly config: Config;
  /** What the person should know, and that stops nothing. */
  readonly notices: readonly string[];
}

/** The configuration of this place; all that is wrong with it in one `invalid_config`. */
export function loadConfig(place: ConfigLocation): LoadedConfig {
  const layers = readLayers(place);
  const broken = layers.problems.filter(({ ignored }) => ignored !== true);
  if (broken.length > 0) throw createInvalidConfigError(broken);
  const ignored = layers.problems.map((problem) => `${formatConfigProblem(problem)} It is ignored.`);
  return {
    config: buildConfig(layers, () => loadHomeKey(place.home)),
    notices: [...ignored, ...restrictExposedFile(place, layers)],
  };
}

/** A file that holds a secret is its owner's alone. */
function restrictExposedFile({ home }: ConfigLocation, { exposed }: Layers): string[] {
  if (!exposed) return [];
  const file = getHomeConfigFile(home);
  try {
    chmodSync(file, 0o600);
    return [`${file} holds a secret and others on this machine could read it; now only you can.`];
  } catch {
    return [
      `${file} holds a secret and others on this machine may read it. Make it yours alone: chmod 600 ${file}`,
    ];
  }
}
