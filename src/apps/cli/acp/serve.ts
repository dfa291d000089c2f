import { type Command, defineCommand } from "../command.ts";
import { printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";

export const serveEditorCommand: Command = defineCommand({
  name: "acp",
  about: `Serves the Agent Client Protocol on stdin and stdout, so that editors such as Zed, JetBrains IDEs and Neovim show
your sessions as threads. The editor starts this command; postrider acp install sets it up. It works beside a running gateway
and open terminals, on the same sessions. It stores everything before the editor shows it. Errors are in logs/editor.log of
the home.`,
  options: {
    all: { type: "flag", help: "also show your sessions from messengers and terminals" },
    agent: {
      type: "text",
      value: "NAME",
      help: "the agent: model, echo, script:FILE, ./FILE.ts or a plugin's (default: the connected model)",
    },
    verbose: { type: "flag", short: "v", help: "log everything; overrides log.level" },
  },
  examples: [
    ["postrider acp --all", "for an editor that shows all your sessions"],
    ["postrider acp --agent echo", "repeats your prompts, to test the setup of the editor"],
  ],
  async run({ values }, io) {
    if (io.input.isTTY) {
      printNotice(io, "An editor starts this command: it expects a protocol, not typed text.");
      printNotice(
        io,
        "postrider acp install zed, jetbrains or neovim sets one up; postrider alone opens a chat here. Ctrl-D ends this.",
      );
    }
    prepareHome(io, () => {});
    const { openEditor } = await import("./open-editor.ts");
    await openEditor(io, {
      all: values.all,
      ...(values.agent !== undefined && { agent: values.agent }),
      ...(values.verbose && { level: "debug" }),
    });
  },
});
