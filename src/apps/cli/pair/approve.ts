import { approve as approveCode } from "../../../commands/pairing.ts";
import { unrefused } from "../../../core/refusal.ts";
import { systemClock } from "../../../system/system-clock.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { note, say, sayJson } from "../io.ts";
import { withStore } from "../opening.ts";
import { accountJson, accountText } from "./people.ts";

export const approve: Command = defineCommand({
  name: "pair approve",
  takes: "CODE",
  // Written in two groups, it may arrive as two words.
  words: [1, 2],
  about:
    "Lets in whoever got this code in a direct chat. They may speak from then on, and are told so in their chat. Case,\nspaces and dashes do not matter. Five wrong codes lock this for an hour.",
  options: {
    platform: { type: "text", value: "NAME", help: "only codes that were asked for there" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider pair approve ABCD-EFGH", "lets in whoever has this code"],
    ["postrider pair approve abcdefgh --platform telegram", "the same, on Telegram only"],
  ],
  async run({ words, values }, io) {
    const clock = { ...systemClock, now: () => io.now() };
    const { person, account } = await withStore(io, async ({ store }) =>
      unrefused(await approveCode({ store, clock, code: words.join(""), platform: values.platform })),
    );
    if (values.json) return sayJson(io, { person, account: accountJson(account) });
    say(io, `${accountText(account)} is let in, as ${person}.`);
    note(io, `postrider pair revoke ${person} takes it back.`);
  },
});
