import type { Config } from "../../config/config.ts";
import type { ConfigLocation } from "../../config/layers.ts";
import { loadOptionalConfig } from "../../config/optional-config.ts";
import { resolveHome } from "../../home.ts";
import { type Io, printNotice } from "../io.ts";

/** Where a command looks for configuration. */
export function locateConfig({ environment }: Pick<Io, "environment">): ConfigLocation {
  return { home: resolveHome(environment), cwd: process.cwd(), environment };
}

/** The configuration that decides where messages of the terminal belong, if there is any; with messengers, of those too. */
export function loadLocalConfig(io: Io, withMessengers = false): Promise<Config | undefined> {
  return loadOptionalConfig(
    locateConfig(io),
    (text) => printNotice(io, `postrider: ${text}`),
    withMessengers,
  );
}
