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
  about: `Why something is where it is: where it came from, whose it is, every part of its key, which policy applies and when
it would start afresh, what keeps it, and what happened to it. WHAT is one of
  a session           k7f, "holiday plans", an id
  a key               agent:main:telegram:dm:99 (all conversations that print so)
  a message           k7f/17, or by the platform's own id: telegram:-100:4711`,
  options: { everyone: EVERYONE_OPTION, json: JSON_OPTION },
  examples: [
    ["postrider explain k7f", "why this session is as it is"],
    ["postrider explain agent:main:telegram:dm:99 --everyone", "who has this key"],
    ["postrider explain k7f/17", "where this message came from"],
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
