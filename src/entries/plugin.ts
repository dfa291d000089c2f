export {
  definePlugin,
  type Plugin,
  type PluginAgent,
  type PluginHost,
  type PluginPlatform,
} from "../gateway/plugin.ts";
