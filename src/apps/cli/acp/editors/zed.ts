import { posix, win32 } from "node:path";
import { defineJsonEditor, type HostMachine, type SupportedEditor } from "./supported-editor.ts";

export const zed: SupportedEditor = defineJsonEditor({
  name: "zed",
  title: "Zed",
  aliases: ["zed-editor", "zeditor"],
  file: getSettingsFile,
  nextStep: "In Zed, open the agent panel and choose it under +. Zed reads the file again by itself.",
  settings: {
    section: "agent_servers",
    entry: ({ command, args, env }) => ({ type: "custom", command, args, env }),
  },
});

/** Zed follows XDG_CONFIG_HOME on Linux only. */
function getSettingsFile({ platform, environment, folder }: HostMachine): string {
  if (platform === "win32") {
    const roaming = environment.APPDATA || win32.join(folder, "AppData", "Roaming");
    return win32.join(roaming, "Zed", "settings.json");
  }
  const configured = platform === "darwin" ? undefined : environment.XDG_CONFIG_HOME;
  const config = configured && posix.isAbsolute(configured) ? configured : posix.join(folder, ".config");
  return posix.join(config, "zed", "settings.json");
}
