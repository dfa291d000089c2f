import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { PostriderError } from "../../core/errors.ts";
import type { PersonCounts } from "../../core/person.ts";
import { plural } from "../../core/plural.ts";
import { unrefused } from "../../core/refusal.ts";
import type { Erased, Store } from "../../ports/store.ts";
import { scrubDatabase } from "../../stores/sqlite/upkeep/scrubbing.ts";
import { homeOf } from "../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { type Io, note, say, sayJson } from "./io.ts";
import { withStore } from "./opening.ts";
import { noPerson, personNamed } from "./person-argument.ts";
import { begunReceipt, copiesIn, newReceiptFile, type Receipt, writeReceipt } from "./receipt.ts";

/** Messages per step: short enough that others hardly wait. */
const STEP = 500;

/** Everything of one person goes, so that not a word is left in the file. */
export const erase: Command = defineCommand({
  name: "erase",
  takes: "PERSON",
  words: [1, 1],
  about:
    "Erases everything of one person: their sessions, accounts and attachments, and their words in shared chats. It\ncannot be undone; postrider export-person keeps a copy first. PERSON is an id (owner, p_…) or an account (telegram:42).\nWhat is cut short is brought to its end by saying it again.",
  options: {
    yes: { type: "flag", help: "do not ask" },
    backups: { type: "flag", help: "remove all copies of the database in this home as well" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider erase telegram:42", "shows how much there is, and asks"],
    ["postrider erase p_3f9a2c44b1d0 --yes --backups", "from the copies too, without asking"],
  ],
  async run({ words: [who = ""], values }, io) {
    const begun = await withStore(io, async ({ home, store }) => {
      const data = await personNamed(store, who);
      const earlier = begunReceipt(home, data?.person ?? who);
      if (data === undefined && earlier === undefined) throw nobody(who, begunReceipt(home)?.receipt.person);
      const person = data?.person ?? who;
      const counts = earlier?.receipt.counts ?? data?.counts ?? NOTHING;
      if (data !== undefined && !values.yes && !(await isConfirmed(io, person, data.counts)))
        return undefined;
      const file = earlier?.file ?? newReceiptFile(home, io.now());
      const receipt: Receipt = {
        person,
        state: "begun",
        started_at: earlier?.receipt.started_at ?? io.now(),
        finished_at: null,
        counts,
        scrubbed: false,
        copies: [],
        copies_removed: [],
      };
      writeReceipt(file, receipt);
      if (data !== undefined) await eraseAll(store, person, io);
      return { file, receipt };
    });
    if (begun === undefined) return 5;
    const home = homeOf(io.environment);
    const scrubbed = await scrubDatabase(home.database);
    const copies = copiesIn(home);
    if (values.backups) for (const copy of copies) rmSync(copy, { force: true });
    const receipt: Receipt = {
      ...begun.receipt,
      state: scrubbed ? "done" : "begun",
      finished_at: scrubbed ? io.now() : null,
      scrubbed,
      copies: values.backups ? [] : copies,
      copies_removed: values.backups ? copies : [],
    };
    writeReceipt(begun.file, receipt);
    tell(io, receipt, begun.file, values.json);
    return scrubbed ? 0 : 1;
  },
});

const NOTHING: PersonCounts = {
  accounts: 0,
  sessions: 0,
  messages: 0,
  elsewhere: 0,
  attachments: 0,
  conversations: 0,
  decisions: 0,
  inbox: 0,
  turns: 0,
  deliveries: 0,
  processes: 0,
  pairings: 0,
  approvals: 0,
  allowed: 0,
  memories: 0,
};

async function eraseAll(store: Store, person: string, io: Io): Promise<void> {
  const input = { person, limit: STEP };
  for (let step: Erased = { done: false }; !step.done; ) {
    const { after } = step;
    step = unrefused(
      await store.erasePerson({ ...input, now: io.now(), ...(after !== undefined && { after }) }),
    );
  }
}

function nobody(who: string, begun: string | undefined): PostriderError {
  if (begun === undefined) return noPerson(who);
  return new PostriderError(
    "not_found",
    `There is no person "${who}". An erasure of ${begun} was cut short: postrider erase ${begun} finishes it.`,
    { details: { field: "person", begun } },
  );
}

async function isConfirmed(io: Io, person: string, counts: PersonCounts): Promise<boolean> {
  if (io.input.isTTY !== true) {
    throw new PostriderError(
      "not_allowed",
      "Nobody can be asked here, so nothing was erased. Add --yes if you are sure.",
    );
  }
  note(io, `This erases for good: ${countsText(counts)}.`);
  const lines = createInterface({ input: io.input, output: io.notices, terminal: io.notices.isTTY === true });
  try {
    const answer = await new Promise<string>((resolve) => {
      lines.question(`Type ${person} to erase it: `, resolve);
      lines.once("close", () => resolve(""));
    });
    if (answer.trim() === person) return true;
    note(io, "Nothing was erased.");
    return false;
  } finally {
    lines.close();
  }
}

function countsText(counts: PersonCounts): string {
  return [
    `${plural(counts.sessions, "session")} with ${plural(counts.messages, "message")}`,
    `${plural(counts.elsewhere, "message")} in shared chats`,
    plural(counts.attachments, "attachment"),
    plural(counts.accounts, "account"),
  ].join(", ");
}

function tell(io: Io, receipt: Receipt, file: string, json: boolean): void {
  if (json) {
    sayJson(io, { ...receipt, receipt: file });
    return;
  }
  say(io, `Erased ${receipt.person}: ${countsText(receipt.counts)}.`);
  say(
    io,
    receipt.scrubbed
      ? "No word of it is left in the database file."
      : "Other programs keep the log in use, which still holds words. End them and say it again.",
  );
  for (const copy of receipt.copies) say(io, `Still holds the words: ${copy}`);
  for (const copy of receipt.copies_removed) say(io, `Removed: ${copy}`);
  if (receipt.copies.length > 0) note(io, "With --backups these copies are removed as well.");
  say(io, `Receipt: ${file}`);
}
