import { posix, win32 } from "node:path";
import type { ServerEntry } from "../server-entry.ts";
import type { HostMachine, SupportedEditor } from "./supported-editor.ts";

/** Neovim speaks ACP through plugins, and each is set up in its own words. */
export const neovim: SupportedEditor = {
  name: "neovim",
  title: "Neovim",
  aliases: ["nvim", "vim", "codecompanion", "avante"],
  file: getInitFile,
  nextStep: "Take the part of the plugin that you use, and merge it with what you give its setup() already.",
  snippet: (name, server, home) =>
    `${formatCodeCompanion(name, server)}\n${formatAvante(name, server, home)}`,
};

function getInitFile({ platform, environment, folder }: HostMachine): string {
  if (platform === "win32") {
    const local = environment.LOCALAPPDATA || win32.join(folder, "AppData", "Local");
    return win32.join(local, "nvim", "init.lua");
  }
  const given = environment.XDG_CONFIG_HOME;
  return posix.join(
    given && posix.isAbsolute(given) ? given : posix.join(folder, ".config"),
    "nvim",
    "init.lua",
  );
}

/** Extends a preset, whose handlers change with the plugin's versions: this one has no variables and no login of its own. */
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

/** It starts agents with PATH and nothing else of the environment, so the home is always said. */
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

/** A text in Lua: what means something between its quotes is written by number. */
function quoteLua(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not stand there
  const plain = text.replaceAll(/["\\]/g, "\\$&").replaceAll(/[\0-\x1f\x7f]/g, (character) => {
    return `\\${String(character.charCodeAt(0)).padStart(3, "0")}`;
  });
  return `"${plain}"`;
}
