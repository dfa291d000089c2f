import { loadConfig } from "../../config/load-config.ts";
import { type LoadedPlugins, loadPlugins } from "../../plugins/load-plugins.ts";
import { locateConfig } from "../config/local-config.ts";
import { type Io, printNotice } from "../io.ts";

export function loadHomePlugins(io: Io): Promise<LoadedPlugins> {
  const place = locateConfig(io);
  const { config, notices } = loadConfig(place);
  for (const text of notices) printNotice(io, `postrider: ${text}`);
  return loadPlugins(place.home, config.plugins);
}
