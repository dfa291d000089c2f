import { sessionToJson } from "../../../core/json.ts";
import { toOneLine } from "../../../core/printable.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, usageError } from "../command.ts";
import { printJson, printLine } from "../io.ts";
import { toAsker, withHome } from "../open-home.ts";
import { resolveSessionArgument } from "../session-argument.ts";

const NAME = "sessions rename";

export const renameSessionCommand: Command = defineCommand({
  name: NAME,
  takes: "SESSION TITLE…",
  words: [1, Number.POSITIVE_INFINITY],
  about: "Gives a session a title, unique among yours. It can then be called by it.",
  options: {
    clear: { type: "flag", help: "take its title away" },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions rename k7f holiday plans", 'from now on: postrider -r "holiday plans"'],
    ["postrider sessions rename k7f --clear", "no title any more"],
  ],
  async run({ words: [name = "", ...title], values }, io) {
    const wanted = title.join(" ");
    if (values.clear === (wanted.trim() !== ""))
      throw usageError(
        values.clear ? "A title and --clear are too much" : "The new title is missing; --clear takes it away",
        NAME,
      );
    const who = toAsker(values.everyone);
    const session = await withHome(io, async ({ store, sessions }) =>
      sessions.title(who, (await resolveSessionArgument(store, who, name)).id, wanted),
    );
    if (values.json) return printJson(io, { session: sessionToJson(session) });
    printLine(
      io,
      session.title === undefined
        ? `${session.handle} has no title now.`
        : `${session.handle} is now called "${toOneLine(session.title)}".`,
    );
  },
});
