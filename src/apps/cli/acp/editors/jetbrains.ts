import { posix, win32 } from "node:path";
import { defineJsonEditor, type SupportedEditor } from "./supported-editor.ts";

/** All IDEs of JetBrains share one file. */
export const jetbrains: SupportedEditor = defineJsonEditor({
  name: "jetbrains",
  title: "JetBrains IDEs",
  aliases: [
    "intellij",
    "idea",
    "pycharm",
    "webstorm",
    "goland",
    "clion",
    "phpstorm",
    "rider",
    "rubymine",
    "rustrover",
  ],
  file: ({ platform, folder }) =>
    (platform === "win32" ? win32 : posix).join(folder, ".jetbrains", "acp.json"),
  nextStep:
    "In the IDE, open AI Chat (it needs the plugin AI Assistant, no subscription) and choose it in the list of agents.",
  settings: {
    section: "agent_servers",
    entry: ({ command, args, env }) => ({ command, args, env }),
  },
});
