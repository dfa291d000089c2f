import type { Plugin } from "../../../gateway/plugin.ts";
import type { PluginState } from "../../plugins/load-plugins.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { printJson, printLine } from "../io.ts";
import { loadHomePlugins } from "./load-home-plugins.ts";

export const listPluginsCommand: Command = defineCommand({
  name: "plugins list",
  about: `The plugins that the home's config.yaml names, with their platforms, agents, tools, commands and hooks. Loads and
runs each of them. A plugin that cannot be used is listed with the reason.`,
  options: { json: JSON_OPTION },
  examples: [["postrider plugins list", "what do my plugins add?"]],
  async run({ values }, io) {
    const { states } = await loadHomePlugins(io);
    if (values.json) printJson(io, { plugins: states.map(toJson) });
    else if (states.length === 0) printLine(io, "No plugins: config.yaml names none.");
    else for (const state of states) printLine(io, `${state.name}  ${describe(state)}`);
  },
});

function describe(state: PluginState): string {
  if ("problem" in state) return `left out: ${state.problem}`;
  const { platforms, agents, tools, commands, hooks } = summarize(state.plugin);
  const parts = [
    ...(platforms > 0 ? [`${platforms} platform${platforms === 1 ? "" : "s"}`] : []),
    ...agents.map((name) => `agent ${name}`),
    ...tools.map((name) => `tool ${name}`),
    ...commands.map((name) => `command /${name}`),
    ...hooks.map((name) => `hook ${name}`),
  ];
  return parts.length === 0 ? "adds nothing" : parts.join(", ");
}

function toJson(state: PluginState): Readonly<Record<string, unknown>> {
  const isLoaded = "plugin" in state;
  return {
    name: state.name,
    loaded: isLoaded,
    problem: isLoaded ? null : state.problem,
    ...summarize(isLoaded ? state.plugin : {}),
  };
}

function summarize({ platforms = [], agents = {}, tools = [], commands = [], hooks = [] }: Plugin) {
  return {
    platforms: platforms.length,
    agents: Object.keys(agents),
    tools: tools.map(({ name }) => name),
    commands: commands.map(({ name }) => name),
    hooks: hooks.map(({ name }) => name),
  };
}
