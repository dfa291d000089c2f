import type { ChatCommand } from "../../commands/command.ts";
import { toChatCommand } from "../../commands/custom-command.ts";
import type { Plugin, PluginAgent } from "../../gateway/plugin.ts";
import type { Tool } from "../../ports/tool.ts";
import type { Home } from "../home.ts";
import { importTrusted } from "./import-trusted.ts";
import { assertNamesFree, parsePlugin } from "./parse-plugin.ts";

/** One entry of `plugins` in the configuration. */
export type PluginState =
  | { readonly name: string; readonly plugin: Plugin }
  | { readonly name: string; readonly problem: string };

/** The plugins of a home, put together. */
export interface LoadedPlugins {
  /** In the order of the configuration. */
  readonly states: readonly PluginState[];
  readonly plugins: readonly Plugin[];
  readonly agents: ReadonlyMap<string, PluginAgent>;
  readonly tools: readonly Tool[];
  readonly commands: readonly ChatCommand[];
  /** A sentence for each plugin that is left out. */
  readonly problems: readonly string[];
}

/** Loads them one after the other. One that cannot be used is left out as a whole. */
export async function loadPlugins(
  { folder }: Pick<Home, "folder">,
  names: readonly string[],
): Promise<LoadedPlugins> {
  const states: PluginState[] = [];
  const plugins: Plugin[] = [];
  for (const name of names) {
    try {
      const plugin = parsePlugin(await importTrusted(name, folder));
      assertNamesFree(plugin, plugins);
      plugins.push(plugin);
      states.push({ name, plugin });
    } catch (error) {
      states.push({ name, problem: toSentence(error) });
    }
  }
  return {
    states,
    plugins,
    agents: new Map(plugins.flatMap(({ agents = {} }) => Object.entries(agents))),
    tools: plugins.flatMap(({ tools = [] }) => tools),
    commands: plugins.flatMap(({ commands = [] }) => commands.map(toChatCommand)),
    problems: states.flatMap((state) =>
      "problem" in state ? [`The plugin ${state.name} is left out: ${state.problem}`] : [],
    ),
  };
}

/** The first line of the message, as a sentence. A command at its end stays as it is. */
export function toSentence(error: unknown): string {
  const { message = String(error) } = (error ?? {}) as Partial<Error>;
  const [first = ""] = message.split("\n");
  return /[.!?]$|: (?:chmod|npm) /.test(first) ? first : `${first}.`;
}
