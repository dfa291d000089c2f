import { getAskerAccount } from "../../../commands/pairing.ts";
import type { Grant, Pairing } from "../../../core/access.ts";
import { toOneLine } from "../../../core/printable.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { formatRelativeTime } from "../format-time.ts";
import { getOutputWidth, printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";
import { createStyle } from "../style.ts";
import { formatTable } from "../table.ts";
import { formatAccount, formatAccountJson } from "./format-account.ts";

export const pairListCommand: Command = defineCommand({
  name: "pair list",
  about:
    "Lists pending pairing requests and people with access. It does not show codes, because Postrider stores only their\nhashes: the person tells you the code. People who have access through the configuration are not listed.",
  options: { json: JSON_OPTION },
  examples: [
    ["postrider pair list", "list requests and people with access"],
    ["postrider pair list --json", "the same for a script"],
  ],
  async run({ values }, io) {
    const now = io.now();
    const { open, people } = await withStore(io, async ({ store }) => ({
      open: await store.access.listPairings({ now }),
      people: await store.access.listGrants(),
    }));
    if (values.json)
      return printJson(io, { open: open.map(formatPairingJson), people: people.map(formatGrantJson) });
    const { bold, dim } = createStyle(io);
    if (open.length === 0) printNotice(io, "There are no pairing requests.");
    else {
      const rows = open.map((one) => [
        formatAsker(one),
        formatRelativeTime(one.askedAt, now),
        formatTimeLeft(one, now),
      ]);
      printLine(io, bold("Pairing requests"));
      printLine(io, formatTable(PAIRING_COLUMNS, rows, getOutputWidth(io), dim).join("\n"));
      printLine(io, "");
      if (open.some(({ asker }) => asker !== undefined))
        printNotice(
          io,
          dim("To give access to a person who tells you their code: postrider pair approve CODE"),
        );
    }
    if (people.length === 0) return;
    printLine(io, bold("People with access"));
    const rows = people.map(({ person, role, since, accounts }) => [
      person,
      role,
      accounts.map(formatAccount).join(", ") || "-",
      formatRelativeTime(since, now),
    ]);
    printLine(io, formatTable(PEOPLE_COLUMNS, rows, getOutputWidth(io), dim).join("\n"));
  },
});

const PAIRING_COLUMNS = [{ heading: "WHO", least: 12 }, { heading: "ASKED" }, { heading: "VALID FOR" }];
const PEOPLE_COLUMNS = [
  { heading: "PERSON" },
  { heading: "ROLE" },
  { heading: "ACCOUNTS", least: 12 },
  { heading: "SINCE", leaveOut: 1 },
];

function formatAsker({ asker, platform, person }: Pairing): string {
  return asker === undefined
    ? `link code for ${toOneLine(person ?? "")} on ${platform}`
    : formatAccount(getAskerAccount(asker));
}

function formatTimeLeft({ expiresAt }: Pairing, now: number): string {
  return `${Math.max(1, Math.ceil((expiresAt - now) / 60_000))}m`;
}

function formatPairingJson({ asker, platform, person, askedAt, expiresAt }: Pairing): object {
  return {
    platform,
    account: asker === undefined ? null : formatAccountJson(getAskerAccount(asker)),
    person: person ?? null,
    asked_at: askedAt,
    expires_at: expiresAt,
  };
}

function formatGrantJson({ person, role, name, since, accounts }: Grant): object {
  return { person, role, name: name ?? null, since, accounts: accounts.map(formatAccountJson) };
}
