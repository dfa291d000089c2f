import { DEFAULT_RESET } from "../../sessions/routing.ts";
import { systemZone } from "../../system/system-clock.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "./command.ts";
import { loadLocalConfig } from "./config/local-config.ts";
import { collectExplanation } from "./explain/collect-explanation.ts";
import { formatExplanationJson } from "./explain/explanation-json.ts";
import { formatExplanation } from "./explain/explanation-text.ts";
import { resolveExplainTarget } from "./explain/target.ts";
import { printJson, printLine } from "./io.ts";
import { toAsker, withStore } from "./open-home.ts";

export const explainCommand: Command = defineCommand({
  name: "explain",
  takes: "WHAT",
  words: [1, 1],
  about: `Explains a session, key or message: its origin, its owner, every part of its key, its reset policy and next reset,
the reasons that delay a reset, and its history. WHAT is one of
  a session           k7f, "holiday plans", an id
  a key               agent:main:telegram:dm:99 (all conversations with this key)
  a message           k7f/17, or the platform's own id: telegram:-100:4711`,
  options: { everyone: EVERYONE_OPTION, json: JSON_OPTION },
  examples: [
    ["postrider explain k7f", "explain a session"],
    ["postrider explain agent:main:telegram:dm:99 --everyone", "find the conversations with this key"],
    ["postrider explain k7f/17", "show the origin of a message"],
  ],
  async run({ words: [what = ""], values }, io) {
    const who = toAsker(values.everyone);
    const { zone, reset } = (await loadLocalConfig(io))?.gateway ?? {
      zone: systemZone(),
      reset: DEFAULT_RESET,
    };
    const moment = { now: io.now(), zone, reset };
    const explained = await withStore(io, async ({ store }) =>
      collectExplanation(store, who, await resolveExplainTarget(store, who, what), moment),
    );
    if (values.json) return printJson(io, formatExplanationJson(explained));
    printLine(io, formatExplanation(io, explained).join("\n").trimEnd());
  },
});
