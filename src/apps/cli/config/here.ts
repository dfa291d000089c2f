import type { Config } from "../../config/config.ts";
import { configIfAny } from "../../config/if-any.ts";
import type { ConfigPlace } from "../../config/layers.ts";
import { homeOf } from "../../home.ts";
import { type Io, note } from "../io.ts";

/** Where a command looks for configuration. */
export function placeOf({ environment }: Pick<Io, "environment">): ConfigPlace {
  return { home: homeOf(environment), cwd: process.cwd(), environment };
}

/** The configuration that decides where messages of the terminal belong, if there is any; with messengers, of those too. */
export function configHere(io: Io, withMessengers = false): Promise<Config | undefined> {
  return configIfAny(placeOf(io), (text) => note(io, `postrider: ${text}`), withMessengers);
}
