import { approvePairing as approveCode } from "../../../commands/pairing.ts";
import { throwIfRefused } from "../../../core/refusal.ts";
import { systemClock } from "../../../system/system-clock.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";
import { formatAccount, formatAccountJson } from "./format-account.ts";

export const pairApproveCommand: Command = defineCommand({
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
      throwIfRefused(await approveCode({ store, clock, code: words.join(""), platform: values.platform })),
    );
    if (values.json) return printJson(io, { person, account: formatAccountJson(account) });
    printLine(io, `${formatAccount(account)} is let in, as ${person}.`);
    printNotice(io, `postrider pair revoke ${person} takes it back.`);
  },
});
