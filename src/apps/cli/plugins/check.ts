import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { printJson, printLine } from "../io.ts";
import { loadHomePlugins } from "./load-home-plugins.ts";

export const checkPluginsCommand: Command = defineCommand({
  name: "plugins check",
  about: `Loads every plugin that the home's config.yaml names, and prints the problem of each that cannot be used. The exit
code is 1 when there is a problem.`,
  options: { json: JSON_OPTION },
  examples: [["postrider plugins check", "can all plugins be used?"]],
  async run({ values }, io) {
    const { states, problems } = await loadHomePlugins(io);
    if (values.json) {
      const broken = states.flatMap((state) =>
        "problem" in state ? [{ plugin: state.name, text: state.problem }] : [],
      );
      printJson(io, { ok: broken.length === 0, problems: broken });
    } else if (problems.length > 0) for (const problem of problems) printLine(io, problem);
    else printLine(io, states.length === 0 ? "No plugins: config.yaml names none." : "No problems.");
    return problems.length === 0 ? 0 : 1;
  },
});
