import type { Config } from "./config.ts";
import { SETTINGS } from "./keys.ts";
import type { ConfigPlace } from "./layers.ts";

/** The settings that decide where a message of the terminal belongs. */
const MATTERS = /^(?:timezone|profile|session_reset\..*|(?:group|thread)_sessions_per_user)$/;

/**
 * The configuration, if there is any that matters here: a file, or a variable that routing depends on. Without one
 * nothing is loaded that takes time.
 */
export async function configIfAny(
  place: ConfigPlace,
  notice: (text: string) => void,
): Promise<Config | undefined> {
  if (!hasFile(place) && !hasVariable(place.environment)) return undefined;
  const { loadConfig } = await import("./load.ts");
  const { config, notices } = loadConfig(place);
  for (const text of notices) notice(text);
  return config;
}

function hasFile({ home, cwd }: ConfigPlace): boolean {
  // The same names as in files.ts, which brings more along than a short command needs.
  const { existsSync } = process.getBuiltinModule("node:fs");
  return existsSync(`${home.folder}/config.yaml`) || existsSync(`${cwd}/postrider.yaml`);
}

function hasVariable(environment: NodeJS.ProcessEnv): boolean {
  return SETTINGS.some(
    ({ key, variable }) => variable !== undefined && environment[variable] && MATTERS.test(key),
  );
}
