import { posix, win32 } from "node:path";
import type { ServerEntry } from "../server-entry.ts";
import type { HostMachine, SupportedEditor } from "./supported-editor.ts";

/** Neovim supports ACP through plugins, each with its own configuration. */
export const neovim: SupportedEditor = {
  name: "neovim",
  title: "Neovim",
  aliases: ["nvim", "vim", "codecompanion", "avante"],
  file: getInitFile,
  nextStep: "Copy the part for your plugin, and merge it with the existing arguments of its setup().",
  snippet: (name, server, home) =>
    `${formatCodeCompanion(name, server)}\n${formatAvante(name, server, home)}`,
};

function getInitFile({ platform, environment, folder }: HostMachine): string {
  if (platform === "win32") {
    const local = environment.LOCALAPPDATA || win32.join(folder, "AppData", "Local");
    return win32.join(local, "nvim", "init.lua");
  }
  const configured = environment.XDG_CONFIG_HOME;
  return posix.join(
    configured && posix.isAbsolute(configured) ? configured : posix.join(folder, ".config"),
    "nvim",
    "init.lua",
  );
}

/** Extends a preset, because its handlers change with the plugin's versions. This preset has no variables and no login. */
function formatCodeCompanion(name: string, { command, args, env }: ServerEntry): string {
  const variables = Object.keys(env).length === 0 ? "" : `\n          env = ${toLuaTable(env)},`;
  return `-- CodeCompanion
require("codecompanion").setup({
  adapters = {
    acp = {
      [${quoteLua(name)}] = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = ${quoteLua(name)},
          formatted_name = ${quoteLua(name)},
          commands = { default = ${toLuaList([command, ...args])} },${variables}
        })
      end,
    },
  },
  interactions = { chat = { adapter = ${quoteLua(name)} } },
})
`;
}

/** avante.nvim passes only PATH to agents, so the home is always set. */
function formatAvante(name: string, { command, args }: ServerEntry, home: string): string {
  return `-- avante.nvim
require("avante").setup({
  provider = ${quoteLua(name)},
  acp_providers = {
    [${quoteLua(name)}] = {
      command = ${quoteLua(command)},
      args = ${toLuaList(args)},
      env = ${toLuaTable({ POSTRIDER_HOME: home })},
    },
  },
})
`;
}

function toLuaList(words: readonly string[]): string {
  return `{ ${words.map(quoteLua).join(", ")} }`;
}

function toLuaTable(fields: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(fields)
    .map(([key, value]) => `${key} = ${quoteLua(value)}`)
    .join(", ")} }`;
}

/** A Lua string. Control characters are written as numbers. */
function quoteLua(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must be escaped
  const plain = text.replaceAll(/["\\]/g, "\\$&").replaceAll(/[\0-\x1f\x7f]/g, (character) => {
    return `\\${String(character.charCodeAt(0)).padStart(3, "0")}`;
  });
  return `"${plain}"`;
}
