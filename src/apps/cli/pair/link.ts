import { createLinkCode } from "../../../commands/pairing.ts";
import { OWNER } from "../../../core/owner.ts";
import { toOneLine } from "../../../core/printable.ts";
import { source } from "../../../core/source.ts";
import { systemClock } from "../../../system/system-clock.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";
import { findPersonArgument, personNotFound } from "../person-argument.ts";

export const pairLinkCommand: Command = defineCommand({
  name: "pair link",
  takes: "PLATFORM",
  words: [1, 1],
  about:
    "Gives a code for an account of yours. Said to the bot in a direct chat, as /pair CODE, it makes that account yours:\nyou are the owner there, too, and reach the same sessions. It is good for an hour and works once. Whoever has it can\nbecome you, so tell it to nobody.",
  options: {
    person: { type: "text", value: "PERSON", help: "for an account of theirs instead: p_…, or telegram:42" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider pair link telegram", "a code for your own account there"],
    ["postrider pair link signal --person telegram:42", "a second account of somebody else"],
  ],
  async run({ words: [platform = ""], values }, io) {
    source({ platform, chatId: "any" }); // a name that could not be one is refused
    const clock = { ...systemClock, now: () => io.now() };
    const { person, code, expiresAt } = await withStore(io, async ({ store }) => {
      const known =
        values.person === undefined ? OWNER : (await findPersonArgument(store, values.person))?.person;
      if (known === undefined) throw personNotFound(values.person ?? "");
      return { person: known, ...(await createLinkCode({ store, clock, platform, person: known })) };
    });
    if (values.json) return printJson(io, { platform, person, code, expires_at: expiresAt });
    printLine(io, code);
    const whose = person === OWNER ? "yours" : `${toOneLine(person)}'s`;
    printNotice(
      io,
      `Within an hour, write /pair ${code} to the bot, in a direct chat on ${platform}: that account is ${whose} then.`,
    );
  },
});
