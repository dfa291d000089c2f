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
  // A code has two groups, which may arrive as two words.
  words: [1, 2],
  about:
    "Gives access to the person who got this code in a direct chat, and notifies them there. Case, spaces and dashes do\nnot matter. Five wrong codes lock this command for an hour.",
  options: {
    platform: { type: "text", value: "NAME", help: "accept only codes from this platform" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider pair approve ABCD-EFGH", "approve this code"],
    ["postrider pair approve abcdefgh --platform telegram", "approve it only if it is from Telegram"],
  ],
  async run({ words, values }, io) {
    const clock = { ...systemClock, now: () => io.now() };
    const { person, account } = await withStore(io, async ({ store }) =>
      throwIfRefused(await approveCode({ store, clock, code: words.join(""), platform: values.platform })),
    );
    if (values.json) return printJson(io, { person, account: formatAccountJson(account) });
    printLine(io, `${formatAccount(account)} now has access, as ${person}.`);
    printNotice(io, `To revoke it: postrider pair revoke ${person}`);
  },
});
