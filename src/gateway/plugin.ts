import type { CustomCommand } from "../commands/custom-command.ts";
import type { Agent } from "../ports/agent.ts";
import type { Log } from "../ports/log.ts";
import type { Platform } from "../ports/platform.ts";
import type { Tool } from "../ports/tool.ts";
import type { Hook } from "./hooks.ts";

/** What a plugin adds to a home. It runs with all rights of the home's owner. */
export interface Plugin {
  /** Called when a gateway starts; `undefined` where the platform is not set up. */
  readonly platforms?: readonly PluginPlatform[];
  /** By the name for `--agent`. */
  readonly agents?: Readonly<Record<string, PluginAgent>>;
  readonly tools?: readonly Tool[];
  readonly commands?: readonly CustomCommand[];
  readonly hooks?: readonly Hook[];
}

export type PluginPlatform = (host: PluginHost) => Platform | undefined | Promise<Platform | undefined>;

export type PluginAgent = (host: PluginHost) => Agent | Promise<Agent>;

/** What the process that loads a plugin gives to it. */
export interface PluginHost {
  /** The environment variables, for tokens and addresses. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Types a plugin. The module exports the result as `default` or as `plugin`. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
