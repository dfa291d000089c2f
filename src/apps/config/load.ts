import { chmodSync } from "node:fs";
import { type Config, configOf } from "./config.ts";
import { homeFile } from "./files.ts";
import { homeKey } from "./home-key.ts";
import { type ConfigPlace, type Layers, readLayers } from "./layers.ts";
import { invalidConfig, problemLine } from "./problem.ts";

export interface Loaded {
  readonly config: Config;
  /** What the person should know, and that stops nothing. */
  readonly notices: readonly string[];
}

/** The configuration of this place; all that is wrong with it in one `invalid_config`. */
export function loadConfig(place: ConfigPlace): Loaded {
  const layers = readLayers(place);
  const broken = layers.problems.filter(({ ignored }) => ignored !== true);
  if (broken.length > 0) throw invalidConfig(broken);
  const ignored = layers.problems.map((problem) => `${problemLine(problem)} It is ignored.`);
  return {
    config: configOf(layers, () => homeKey(place.home)),
    notices: [...ignored, ...closed(place, layers)],
  };
}

/** A file that holds a secret is its owner's alone. */
function closed({ home }: ConfigPlace, { exposed }: Layers): string[] {
  if (!exposed) return [];
  const file = homeFile(home);
  try {
    chmodSync(file, 0o600);
    return [`${file} holds a secret and others on this machine could read it; now only you can.`];
  } catch {
    return [
      `${file} holds a secret and others on this machine may read it. Make it yours alone: chmod 600 ${file}`,
    ];
  }
}
