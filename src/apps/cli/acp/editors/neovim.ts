import { posix, win32 } from "node:path";
import type { ServerEntry } from "../server-entry.ts";
import type { Editor, Machine } from "./editor.ts";

/** Neovim speaks ACP through plugins, and each is set up in its own words. */
export const neovim: Editor = {
  name: "neovim",
  title: "Neovim",
  alike: ["nvim", "vim", "codecompanion", "avante"],
  file: initFile,
  next: "Take the part of the plugin that you use, and merge it with what you give its setup() already.",
  snippet: (name, server, home) => `${codeCompanion(name, server)}\n${avante(name, server, home)}`,
};

function initFile({ platform, environment, folder }: Machine): string {
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
function codeCompanion(name: string, { command, args, env }: ServerEntry): string {
  const variables = Object.keys(env).length === 0 ? "" : `\n          env = ${table(env)},`;
  return `-- CodeCompanion
require("codecompanion").setup({
  adapters = {
    acp = {
      [${quoted(name)}] = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = ${quoted(name)},
          formatted_name = ${quoted(name)},
          commands = { default = ${list([command, ...args])} },${variables}
        })
      end,
    },
  },
  interactions = { chat = { adapter = ${quoted(name)} } },
})
`;
}

/** It starts agents with PATH and nothing else of the environment, so the home is always said. */
function avante(name: string, { command, args }: ServerEntry, home: string): string {
  return `-- avante.nvim
require("avante").setup({
  provider = ${quoted(name)},
  acp_providers = {
    [${quoted(name)}] = {
      command = ${quoted(command)},
      args = ${list(args)},
      env = ${table({ POSTRIDER_HOME: home })},
    },
  },
})
`;
}

function list(words: readonly string[]): string {
  return `{ ${words.map(quoted).join(", ")} }`;
}

function table(fields: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(fields)
    .map(([key, value]) => `${key} = ${quoted(value)}`)
    .join(", ")} }`;
}

/** A text in Lua: what means something between its quotes is written by number. */
function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not stand there
  const plain = text.replaceAll(/["\\]/g, "\\$&").replaceAll(/[\0-\x1f\x7f]/g, (character) => {
    return `\\${String(character.charCodeAt(0)).padStart(3, "0")}`;
  });
  return `"${plain}"`;
}
