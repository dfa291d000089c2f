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
  about: "Sets the title of a session, unique among yours. Commands then find the session by its title.",
  options: {
    clear: { type: "flag", help: "remove the title" },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions rename k7f holiday plans", 'from now on: postrider -r "holiday plans"'],
    ["postrider sessions rename k7f --clear", "remove the title"],
  ],
  async run({ words: [name = "", ...title], values }, io) {
    const wanted = title.join(" ");
    if (values.clear === (wanted.trim() !== ""))
      throw usageError(
        values.clear
          ? "Use a title or --clear, not both"
          : "The new title is missing; --clear removes the title",
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
        : `The title of ${session.handle} is now "${toOneLine(session.title)}".`,
    );
  },
});
