import type { Config } from "./config.ts";
import type { ConfigLocation } from "./layers.ts";
import type { OpenConfig } from "./open-config.ts";
import { SETTINGS } from "./settings.ts";

/** The settings that decide where a message of the terminal belongs, and what the agent has there. */
const CHAT_SETTINGS =
  /^(?:timezone|profile|(?:session_reset|tools|memory)\..*|(?:group|thread)_sessions_per_user)$/;
/** The settings that decide which messengers there are. */
const PLATFORM_SETTINGS = /^platforms\./;

/**
 * The configuration, if there is any that matters here: a file, or a variable that it depends on. Without one
 * nothing is loaded that takes time.
 */
export async function loadOptionalConfig(
  place: ConfigLocation,
  notice: (text: string) => void,
  withMessengers = false,
): Promise<Config | undefined> {
  const matters = withMessengers ? [CHAT_SETTINGS, PLATFORM_SETTINGS] : [CHAT_SETTINGS];
  if (!hasFile(place) && !matters.some((names) => hasVariable(place.environment, names))) return undefined;
  const { loadConfig } = await import("./load-config.ts");
  const { config, notices } = loadConfig(place);
  for (const text of notices) notice(text);
  return config;
}

/** The same for a program that runs for long and follows its configuration, once there is any: whatever it is about. */
export function followOptionalConfig(place: ConfigLocation, notice: (text: string) => void): OptionalConfig {
  let config: OpenConfig | undefined;
  let standard: Config | undefined;
  return {
    async refresh() {
      const { buildConfig: configOf } = await import("./config.ts");
      standard ??= configOf({ values: new Map(), fromFiles: new Map() }, () => "");
      if (config !== undefined || !(hasFile(place) || hasVariable(place.environment, /(?:)/))) return;
      const { openConfig } = await import("./open-config.ts");
      config ??= openConfig({ ...place, notice });
    },
    current() {
      const current = config?.current() ?? standard;
      if (current === undefined) throw new Error("nobody has looked for a configuration yet");
      return current;
    },
    close: () => config?.close(),
  };
}

export interface OptionalConfig extends Pick<OpenConfig, "current" | "close"> {
  /** Looks whether there is any by now. Throws `invalid_config` if there is and it is wrong. */
  refresh(): Promise<void>;
}

function hasFile({ home, cwd }: ConfigLocation): boolean {
  // The same names as in files.ts, which brings more along than a short command needs.
  const { existsSync } = process.getBuiltinModule("node:fs");
  return existsSync(`${home.folder}/config.yaml`) || existsSync(`${cwd}/postrider.yaml`);
}

function hasVariable(environment: NodeJS.ProcessEnv, matters: RegExp): boolean {
  return SETTINGS.some(
    ({ key, variable }) => variable !== undefined && environment[variable] && matters.test(key),
  );
}
