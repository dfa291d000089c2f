import { toChatCommand } from "../../commands/custom-command.ts";
import { CHAT_COMMANDS } from "../../commands/table.ts";
import { findCommand } from "../../core/command-grammar.ts";
import { TOOL_NAMES } from "../../core/tool-settings.ts";
import type { Plugin } from "../../gateway/plugin.ts";
import { parseHookEvents } from "../hooks/module-hook.ts";

type Fields = Readonly<Record<string, unknown>>;

const PARTS = ["platforms", "agents", "tools", "commands", "hooks"];

/** The plugin that a module exports. Throws a sentence that says what is wrong. */
export function parsePlugin(module: Fields): Plugin {
  const plugin = module.default ?? module.plugin;
  if (!isObject(plugin)) throw new Error("It exports no plugin: export default definePlugin({ … }).");
  const unknown = Object.keys(plugin).find((name) => !PARTS.includes(name));
  if (unknown !== undefined)
    throw new Error(`A plugin has no part "${unknown}"; the parts are ${PARTS.join(", ")}.`);
  const { agents = {} } = plugin;
  if (!isObject(agents)) throw new Error("agents is not an object of functions by name.");
  for (const [name, create] of Object.entries(agents))
    if (typeof create !== "function") throw new Error(`agents.${name} is not a function.`);
  expectEach(plugin, "platforms", (platform) => {
    if (typeof platform !== "function") throw new Error("is not a function that returns a platform");
  });
  expectEach(plugin, "tools", expectTool);
  expectEach(plugin, "commands", expectCommand);
  expectEach(plugin, "hooks", (hook) => {
    if (!isObject(hook) || typeof hook.handle !== "function") throw new Error("has no function handle");
    parseHookEvents(hook.events);
  });
  return plugin as Plugin;
}

function expectEach(plugin: Fields, part: string, expect: (item: unknown) => void): void {
  const items = plugin[part] ?? [];
  if (!Array.isArray(items)) throw new Error(`${part} is not a list.`);
  for (const [at, item] of items.entries()) {
    try {
      expect(item);
    } catch (error) {
      throw new Error(`${part}[${at}] ${(error as Error).message.replace(/[^.]$/, "$&.")}`, { cause: error });
    }
  }
}

function expectTool(tool: unknown): void {
  if (!isObject(tool) || typeof tool.name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name))
    throw new Error("has no valid name");
  if (typeof tool.description !== "string" || !isObject(tool.input) || typeof tool.run !== "function")
    throw new Error(`(${tool.name}) needs a description, an input schema and a function run: use defineTool`);
}

function expectCommand(command: unknown): void {
  if (!isObject(command) || typeof command.name !== "string" || typeof command.summary !== "string")
    throw new Error("has no name or no summary");
  if (typeof command.run !== "function") throw new Error(`(${command.name}) has no function run`);
  toChatCommand(command as unknown as Parameters<typeof toChatCommand>[0]);
}

/** The names that other parts of Postrider, or earlier plugins, have already. */
export function assertNamesFree(plugin: Plugin, earlier: readonly Plugin[]): void {
  for (const { name } of plugin.commands ?? []) {
    const others = [...CHAT_COMMANDS, ...earlier.flatMap(({ commands = [] }) => commands)];
    if (findCommand(others, name) !== undefined) throw new Error(`There is already a command /${name}.`);
  }
  for (const { name } of plugin.tools ?? []) {
    const others = [...TOOL_NAMES, ...earlier.flatMap(({ tools = [] }) => tools.map((tool) => tool.name))];
    if (others.includes(name)) throw new Error(`There is already a tool ${name}.`);
  }
  for (const name of Object.keys(plugin.agents ?? {})) {
    const others = ["model", "echo", ...earlier.flatMap(({ agents = {} }) => Object.keys(agents))];
    if (others.includes(name)) throw new Error(`There is already an agent ${name}.`);
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
