import { askerAccount } from "../../../commands/pairing.ts";
import type { Grant, Pairing } from "../../../core/access.ts";
import { onOneLine } from "../../../core/printable.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { note, say, sayJson, widthOf } from "../io.ts";
import { withStore } from "../opening.ts";
import { relativeTime } from "../relative-time.ts";
import { styleOf } from "../style.ts";
import { table } from "../table.ts";
import { accountJson, accountText } from "./people.ts";

export const list: Command = defineCommand({
  name: "pair list",
  about:
    "Who asks to be let in, and who was. Codes are not shown: only their hashes are kept, so that whoever asked must tell\nyou theirs. People that the configuration lets in are not listed.",
  options: { json: JSON_OPTION },
  examples: [
    ["postrider pair list", "who asks, and who may speak"],
    ["postrider pair list --json", "the same for a script"],
  ],
  async run({ values }, io) {
    const now = io.now();
    const { open, people } = await withStore(io, async ({ store }) => ({
      open: await store.pairings({ now }),
      people: await store.grants(),
    }));
    if (values.json) return sayJson(io, { open: open.map(pairingJson), people: people.map(grantJson) });
    const { bold, dim } = styleOf(io);
    if (open.length === 0) note(io, "Nobody asks to be let in.");
    else {
      const rows = open.map((one) => [whoAsks(one), relativeTime(one.askedAt, now), left(one, now)]);
      say(io, bold("Open codes"));
      say(io, table(OPEN, rows, widthOf(io), dim).join("\n"));
      say(io, "");
      if (open.some(({ asker }) => asker !== undefined))
        note(io, dim("postrider pair approve CODE lets in whoever tells you their code."));
    }
    if (people.length === 0) return;
    say(io, bold("Who may speak"));
    const rows = people.map(({ person, role, since, accounts }) => [
      person,
      role,
      accounts.map(accountText).join(", ") || "-",
      relativeTime(since, now),
    ]);
    say(io, table(PEOPLE, rows, widthOf(io), dim).join("\n"));
  },
});

const OPEN = [{ heading: "WHO", least: 12 }, { heading: "ASKED" }, { heading: "GOOD FOR" }];
const PEOPLE = [
  { heading: "PERSON" },
  { heading: "ROLE" },
  { heading: "ACCOUNTS", least: 12 },
  { heading: "SINCE", leaveOut: 1 },
];

function whoAsks({ asker, platform, person }: Pairing): string {
  return asker === undefined
    ? `whoever gives it on ${platform}, to be ${onOneLine(person ?? "")}`
    : accountText(askerAccount(asker));
}

function left({ expiresAt }: Pairing, now: number): string {
  return `${Math.max(1, Math.ceil((expiresAt - now) / 60_000))}m`;
}

function pairingJson({ asker, platform, person, askedAt, expiresAt }: Pairing): object {
  return {
    platform,
    account: asker === undefined ? null : accountJson(askerAccount(asker)),
    person: person ?? null,
    asked_at: askedAt,
    expires_at: expiresAt,
  };
}

function grantJson({ person, role, name, since, accounts }: Grant): object {
  return { person, role, name: name ?? null, since, accounts: accounts.map(accountJson) };
}
