import type { Config } from "./config.ts";
import type { ConfigLocation } from "./layers.ts";
import type { OpenConfig } from "./open-config.ts";
import { SETTINGS } from "./settings.ts";

/** Variables of the settings that the terminal chat needs. */
const CHAT_SETTINGS =
  /^(?:timezone|profile|(?:session_reset|tools|memory)\..*|(?:group|thread)_sessions_per_user)$/;
/** Variables of the settings for messengers. */
const PLATFORM_SETTINGS = /^platforms\./;

/** Loads the configuration if a file or a relevant variable exists. Otherwise it loads no slow module. */
export async function loadOptionalConfig(
  location: ConfigLocation,
  notice: (text: string) => void,
  withMessengers = false,
): Promise<Config | undefined> {
  const matters = withMessengers ? [CHAT_SETTINGS, PLATFORM_SETTINGS] : [CHAT_SETTINGS];
  if (!hasFile(location) && !matters.some((names) => hasVariable(location.environment, names)))
    return undefined;
  const { loadConfig } = await import("./load-config.ts");
  const { config, notices } = loadConfig(location);
  for (const text of notices) notice(text);
  return config;
}

/** The same for a long-running process, which follows the configuration once there is one. */
export function followOptionalConfig(
  location: ConfigLocation,
  notice: (text: string) => void,
): OptionalConfig {
  let config: OpenConfig | undefined;
  let standard: Config | undefined;
  return {
    async refresh() {
      const { buildConfig } = await import("./config.ts");
      standard ??= buildConfig({ values: new Map(), fromFiles: new Map() }, () => "");
      if (config !== undefined || !(hasFile(location) || hasVariable(location.environment, /(?:)/))) return;
      const { openConfig } = await import("./open-config.ts");
      config ??= openConfig({ ...location, notice });
    },
    current() {
      const current = config?.current() ?? standard;
      if (current === undefined) throw new Error("the configuration was not loaded yet");
      return current;
    },
    close: () => config?.close(),
  };
}

export interface OptionalConfig extends Pick<OpenConfig, "current" | "close"> {
  /** Loads the configuration if it exists now. Throws `invalid_config` if it is invalid. */
  refresh(): Promise<void>;
}

function hasFile({ home, cwd }: ConfigLocation): boolean {
  // The file names of config-files.ts, which a short command does not load.
  const { existsSync } = process.getBuiltinModule("node:fs");
  return existsSync(`${home.folder}/config.yaml`) || existsSync(`${cwd}/postrider.yaml`);
}

function hasVariable(environment: NodeJS.ProcessEnv, matters: RegExp): boolean {
  return SETTINGS.some(
    ({ key, variable }) => variable !== undefined && environment[variable] && matters.test(key),
  );
}
