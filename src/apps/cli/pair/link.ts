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
    "Creates a code that links another account to you. Send /pair CODE to the bot in a direct chat: that account is then\nthe owner too, with the same sessions. The code is valid for one hour and one use. Keep it secret: it gives access as\nyou.",
  options: {
    person: {
      type: "text",
      value: "PERSON",
      help: "link the account to this person instead: p_…, or telegram:42",
    },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider pair link telegram", "create a code for your account on Telegram"],
    ["postrider pair link signal --person telegram:42", "link a second account of another person"],
  ],
  async run({ words: [platform = ""], values }, io) {
    source({ platform, chatId: "any" }); // refuses an invalid platform name
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
      `Within an hour, send /pair ${code} to the bot in a direct chat on ${platform}. That account is then ${whose}.`,
    );
  },
});
