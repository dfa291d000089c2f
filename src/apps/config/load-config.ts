import { chmodSync } from "node:fs";
import { buildConfig, type Config } from "./config.ts";
import { getHomeConfigFile } from "./config-files.ts";
import { createInvalidConfigError, formatConfigProblem } from "./config-problem.ts";
import { loadHomeKey } from "./home-key.ts";
import { type ConfigLocation, type Layers, readLayers } from "./layers.ts";

export interface LoadedConfig {
  readonly config: Config;
  /** Warnings that do not stop the start. */
  readonly notices: readonly string[];
}

/** Loads the configuration of a folder. One `invalid_config` error lists all problems. */
export function loadConfig(location: ConfigLocation): LoadedConfig {
  const layers = readLayers(location);
  const broken = layers.problems.filter(({ ignored }) => ignored !== true);
  if (broken.length > 0) throw createInvalidConfigError(broken);
  const ignored = layers.problems.map((problem) => `${formatConfigProblem(problem)} It is ignored.`);
  return {
    config: buildConfig(layers, () => loadHomeKey(location.home)),
    notices: [...ignored, ...restrictExposedFile(location, layers)],
  };
}

/** Makes a file with a secret private. */
function restrictExposedFile({ home }: ConfigLocation, { exposed }: Layers): string[] {
  if (!exposed) return [];
  const file = getHomeConfigFile(home);
  try {
    chmodSync(file, 0o600);
    return [
      `${file} contains a secret and other users of this machine could read it. Postrider made it private.`,
    ];
  } catch {
    return [`${file} contains a secret and other users of this machine can read it. Run: chmod 600 ${file}`];
  }
}
