import type { Config } from "../../config/config.ts";
import type { ConfigLocation } from "../../config/layers.ts";
import { loadOptionalConfig } from "../../config/optional-config.ts";
import { resolveHome } from "../../home.ts";
import { type Io, printNotice } from "../io.ts";

/** The home, folder and environment from which a command reads its configuration. */
export function locateConfig({ environment }: Pick<Io, "environment">): ConfigLocation {
  return { home: resolveHome(environment), cwd: process.cwd(), environment };
}

/** The configuration of the terminal chat, if there is any; with messengers, theirs too. */
export function loadLocalConfig(io: Io, withMessengers = false): Promise<Config | undefined> {
  return loadOptionalConfig(
    locateConfig(io),
    (text) => printNotice(io, `postrider: ${text}`),
    withMessengers,
  );
}
