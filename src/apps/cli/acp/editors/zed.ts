import { posix, win32 } from "node:path";
import { type Editor, jsonEditor, type Machine } from "./editor.ts";

export const zed: Editor = jsonEditor({
  name: "zed",
  title: "Zed",
  alike: ["zed-editor", "zeditor"],
  file: settingsFile,
  next: "In Zed, open the agent panel and choose it under +. Zed reads the file again by itself.",
  settings: {
    section: "agent_servers",
    entry: ({ command, args, env }) => ({ type: "custom", command, args, env }),
  },
});

/** Zed follows XDG_CONFIG_HOME on Linux only. */
function settingsFile({ platform, environment, folder }: Machine): string {
  if (platform === "win32") {
    const roaming = environment.APPDATA || win32.join(folder, "AppData", "Roaming");
    return win32.join(roaming, "Zed", "settings.json");
  }
  const given = platform === "darwin" ? undefined : environment.XDG_CONFIG_HOME;
  const config = given && posix.isAbsolute(given) ? given : posix.join(folder, ".config");
  return posix.join(config, "zed", "settings.json");
}
