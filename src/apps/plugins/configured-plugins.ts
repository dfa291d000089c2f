import type { Config } from "../config/config.ts";
import type { Home } from "../home.ts";
import type { LoadedPlugins } from "./load-plugins.ts";

/** The plugins that the configuration names; nothing is loaded where it names none. */
export async function loadConfiguredPlugins(
  home: Home,
  config: Config | undefined,
  notice: (text: string) => void,
): Promise<LoadedPlugins | undefined> {
  if (config === undefined || config.plugins.length === 0) return undefined;
  const { loadPlugins } = await import("./load-plugins.ts");
  const loaded = await loadPlugins(home, config.plugins);
  for (const problem of loaded.problems) notice(problem);
  return loaded;
}
