import { type Command, defineCommand } from "../command.ts";
import { printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";

export const serveEditorCommand: Command = defineCommand({
  name: "acp",
  about: `Speaks the Agent Client Protocol on its input and output, so that editors such as Zed, JetBrains IDEs and Neovim show
your sessions as threads. An editor starts it; postrider acp install tells it how. It works beside a running gateway and
open terminals, on the same sessions. Whatever is shown is stored first. What goes wrong is in logs/editor.log of the
home.`,
  options: {
    all: { type: "flag", help: "show your sessions from messengers and terminals, too" },
    agent: {
      type: "text",
      value: "NAME",
      help: "who answers: model, echo, script:FILE, ./FILE.ts or a plugin's agent (default: the model that is connected)",
    },
    verbose: { type: "flag", short: "v", help: "log everything, whatever log.level says" },
  },
  examples: [
    ["postrider acp --all", "what an editor runs that shows every session of yours"],
    ["postrider acp --agent echo", "repeats what it is told, to see whether the editor is set up"],
  ],
  async run({ values }, io) {
    if (io.input.isTTY) {
      printNotice(io, "This is for an editor to start: it speaks a protocol, not with people.");
      printNotice(
        io,
        "postrider acp install zed, jetbrains or neovim sets one up; postrider alone talks here. Ctrl-D ends this.",
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
