import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jetbrains } from "./jetbrains.ts";
import { neovim } from "./neovim.ts";
import type { HostMachine, SupportedEditor } from "./supported-editor.ts";
import { zed } from "./zed.ts";

const ADA = "/home/ada";
const WINDOWS = { platform: "win32", folder: "C:\\Users\\Ada" } as const;
const server = { command: "/opt/node", args: ["/opt/postrider.mjs", "acp"], env: { POSTRIDER_HOME: "/srv" } };

describe("the settings file of an editor", () => {
  const cases: readonly [SupportedEditor, Partial<HostMachine>, file: string][] = [
    [zed, {}, "/home/ada/.config/zed/settings.json"],
    [zed, { environment: { XDG_CONFIG_HOME: "/cfg" } }, "/cfg/zed/settings.json"],
    [zed, { environment: { XDG_CONFIG_HOME: "not/absolute" } }, "/home/ada/.config/zed/settings.json"],
    [
      zed,
      { platform: "darwin", environment: { XDG_CONFIG_HOME: "/cfg" } },
      "/home/ada/.config/zed/settings.json",
    ],
    [zed, { ...WINDOWS, environment: { APPDATA: "D:\\Roaming" } }, "D:\\Roaming\\Zed\\settings.json"],
    [zed, WINDOWS, "C:\\Users\\Ada\\AppData\\Roaming\\Zed\\settings.json"],
    [jetbrains, { environment: { XDG_CONFIG_HOME: "/cfg" } }, "/home/ada/.jetbrains/acp.json"],
    [jetbrains, WINDOWS, "C:\\Users\\Ada\\.jetbrains\\acp.json"],
    [neovim, {}, "/home/ada/.config/nvim/init.lua"],
    [neovim, WINDOWS, "C:\\Users\\Ada\\AppData\\Local\\nvim\\init.lua"],
  ];
  it.each(cases)("is known for $name on %j", (editor, machine, file) => {
    expect(editor.file({ platform: "linux", environment: {}, folder: ADA, ...machine })).toBe(file);
  });
});

describe("the snippet", () => {
  it("is JSON in the formats of Zed and JetBrains", () => {
    expect(JSON.parse(zed.snippet("Post", server, "/srv"))).toEqual({
      agent_servers: { Post: { type: "custom", ...server } },
    });
    expect(JSON.parse(jetbrains.snippet("Post", server, "/srv"))).toEqual({
      agent_servers: { Post: server },
    });
  });

  it("is Lua for both plugins of Neovim, and always sets the home for avante, which passes no HOME", () => {
    const lua = neovim.snippet("Postrider", { ...server, env: {} }, "/home/ada/.postrider");
    const [codeCompanion = "", avante = ""] = lua.split("-- avante.nvim");
    expect(codeCompanion).toContain('commands = { default = { "/opt/node", "/opt/postrider.mjs", "acp" } },');
    expect(codeCompanion).not.toContain("env =");
    expect(avante).toContain('command = "/opt/node",');
    expect(avante).toContain('args = { "/opt/postrider.mjs", "acp" },');
    expect(avante).toContain('env = { POSTRIDER_HOME = "/home/ada/.postrider" },');
    expect(neovim.snippet("Postrider", server, "/srv")).toContain(
      '          env = { POSTRIDER_HOME = "/srv" },\n',
    );
  });

  it("escapes any path as a Lua string", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (path) => {
        const lua = neovim.snippet("Postrider", { ...server, command: path }, "/srv");
        const [, text = ""] = /\n {6}command = "([^\n]*)",\n/.exec(lua) ?? [];
        const read = text.replaceAll(/\\(\d{3}|.)/gs, (_, code: string) =>
          code.length === 3 ? String.fromCharCode(Number(code)) : code,
        );
        expect(text).not.toMatch(/(?<!\\)(?:\\\\)*"/);
        expect(read).toBe(path);
      }),
    );
  });
});
