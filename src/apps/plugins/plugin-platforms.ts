import type { PluginHost } from "../../gateway/plugin.ts";
import type { Platform } from "../../ports/platform.ts";
import type { PluginState } from "./load-plugins.ts";

/** The platforms of plugins that are set up. One that fails is named in the log and left out. */
export async function createPluginPlatforms(
  states: readonly PluginState[],
  host: PluginHost,
): Promise<readonly Platform[]> {
  const platforms: Platform[] = [];
  for (const state of states) {
    if (!("plugin" in state)) continue;
    for (const create of state.plugin.platforms ?? []) {
      try {
        const platform = await create(host);
        if (platform !== undefined) platforms.push(platform);
      } catch (error) {
        host.log.error({ plugin: state.name, error }, `a platform of the plugin ${state.name} is left out`);
      }
    }
  }
  return platforms;
}
