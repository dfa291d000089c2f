import { sessionToJson } from "../../../core/json.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { printJson, printLine } from "../io.ts";
import { toAsker, withHome } from "../open-home.ts";
import { resolveSessionArgument } from "../session-argument.ts";
import { findMessageIndex, messageNotFound, readMessages } from "./read-messages.ts";
import { formatSessionLabel } from "./session-rows.ts";

export const forkSessionCommand: Command = defineCommand({
  name: "sessions fork",
  takes: "SESSION",
  words: [1, 1],
  about:
    "Starts a new session with the messages of an existing one. Both continue independently; no message is copied.",
  options: {
    title: { type: "text", help: "the title; by default the next number, such as plan #2" },
    at: { type: "count", value: "SEQ", help: "fork after this message" },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions fork k7f", "try another direction"],
    ['postrider sessions fork k7f --at 12 --title "plan B"', "fork after message 12"],
  ],
  async run({ words: [name = ""], values }, io) {
    const who = toAsker(values.everyone);
    const { at, title } = values;
    const { from, made } = await withHome(io, async ({ store, sessions }) => {
      const from = await resolveSessionArgument(store, who, name);
      const place =
        at === undefined
          ? undefined
          : findMessageIndex(await readMessages(store, who, from, false), from, at);
      if (at !== undefined && place === undefined) throw messageNotFound(from, at);
      const options = {
        ...(title !== undefined && { title }),
        ...(place !== undefined && { keep: place + 1 }),
      };
      return { from, made: await sessions.fork(who, from.id, options) };
    });
    if (values.json) return printJson(io, { session: sessionToJson(made) });
    printLine(
      io,
      `${formatSessionLabel(made)} is a fork of ${formatSessionLabel(from)}${at === undefined ? "" : ` after message ${at}`}.`,
    );
    printLine(io, `To continue it: postrider -r ${made.handle}`);
  },
});
