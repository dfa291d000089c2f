import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { PostriderError } from "../../core/errors.ts";
import type { PersonCounts } from "../../core/person.ts";
import { pluralize } from "../../core/pluralize.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import type { ErasureProgress } from "../../ports/access-store.ts";
import type { Store } from "../../ports/store.ts";
import { scrubDatabase } from "../../stores/sqlite/upkeep/scrub-database.ts";
import { resolveHome } from "../home.ts";
import { isSharedStore } from "../open-store.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { type Io, printJson, printLine, printNotice } from "./io.ts";
import { withStore } from "./open-home.ts";
import { findPersonArgument, personNotFound } from "./person-argument.ts";
import {
  chooseReceiptFile,
  findUnfinishedReceipt,
  listDatabaseCopies,
  type Receipt,
  writeReceipt,
} from "./receipt.ts";

/** Messages per transaction: small, so that other processes can write in between. */
const BATCH_SIZE = 500;

/** Erases all data of one person, including remnants in the database file. */
export const erasePersonCommand: Command = defineCommand({
  name: "erase",
  takes: "PERSON",
  words: [1, 1],
  about:
    "Erases all data of one person: their sessions, accounts and attachments, and their messages in shared chats. This\ncannot be undone; postrider export-person saves a copy first. PERSON is an id (owner, p_…) or an account (telegram:42).\nIf an erasure was interrupted, run the command again to finish it.",
  options: {
    yes: { type: "flag", help: "do not ask for confirmation" },
    backups: { type: "flag", help: "also delete all copies of the database in this home" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider erase telegram:42", "shows the amount of data and asks"],
    ["postrider erase p_3f9a2c44b1d0 --yes --backups", "also deletes the copies, without asking"],
  ],
  async run({ words: [who = ""], values }, io) {
    const unfinished = await withStore(io, async ({ home, store }) => {
      const data = await findPersonArgument(store, who);
      const earlier = findUnfinishedReceipt(home, data?.person ?? who);
      if (data === undefined && earlier === undefined)
        throw personNotFoundError(who, findUnfinishedReceipt(home)?.receipt.person);
      const person = data?.person ?? who;
      const counts = earlier?.receipt.counts ?? data?.counts ?? NO_COUNTS;
      if (data !== undefined && !values.yes && !(await confirmErasure(io, person, data.counts)))
        return undefined;
      const file = earlier?.file ?? chooseReceiptFile(home, io.now());
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
    if (unfinished === undefined) return 5;
    const home = resolveHome(io.environment);
    // A server has no file to rewrite: docs/scale.md says what remains there, and for how long.
    const scrubbed = (await isSharedStore(home, io.environment)) || (await scrubDatabase(home.database));
    const copies = listDatabaseCopies(home);
    if (values.backups) for (const copy of copies) rmSync(copy, { force: true });
    const receipt: Receipt = {
      ...unfinished.receipt,
      state: scrubbed ? "done" : "begun",
      finished_at: scrubbed ? io.now() : null,
      scrubbed,
      copies: values.backups ? [] : copies,
      copies_removed: values.backups ? copies : [],
    };
    writeReceipt(unfinished.file, receipt);
    printReceipt(io, receipt, unfinished.file, values.json);
    return scrubbed ? 0 : 1;
  },
});

const NO_COUNTS: PersonCounts = {
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
  const input = { person, limit: BATCH_SIZE };
  for (let step: ErasureProgress = { done: false }; !step.done; ) {
    const { after } = step;
    step = throwIfRefused(
      await store.access.erasePerson({ ...input, now: io.now(), ...(after !== undefined && { after }) }),
    );
  }
}

function personNotFoundError(who: string, unfinished: string | undefined): PostriderError {
  if (unfinished === undefined) return personNotFound(who);
  return new PostriderError(
    "not_found",
    `There is no person "${who}". An erasure of ${unfinished} was interrupted: postrider erase ${unfinished} finishes it.`,
    { details: { field: "person", unfinished } },
  );
}

async function confirmErasure(io: Io, person: string, counts: PersonCounts): Promise<boolean> {
  if (io.input.isTTY !== true) {
    throw new PostriderError(
      "not_allowed",
      "This command needs a confirmation, and there is no terminal to ask in. Nothing was erased. Add --yes to confirm.",
    );
  }
  printNotice(io, `This permanently erases ${formatCounts(counts)}.`);
  const lines = createInterface({ input: io.input, output: io.notices, terminal: io.notices.isTTY === true });
  try {
    const answer = await new Promise<string>((resolve) => {
      lines.question(`Type ${person} to confirm: `, resolve);
      lines.once("close", () => resolve(""));
    });
    if (answer.trim() === person) return true;
    printNotice(io, "Nothing was erased.");
    return false;
  } finally {
    lines.close();
  }
}

function formatCounts(counts: PersonCounts): string {
  return [
    `${pluralize(counts.sessions, "session")} with ${pluralize(counts.messages, "message")}`,
    `${pluralize(counts.elsewhere, "message")} in shared chats`,
    pluralize(counts.attachments, "attachment"),
    pluralize(counts.accounts, "account"),
  ].join(", ");
}

function printReceipt(io: Io, receipt: Receipt, file: string, json: boolean): void {
  if (json) {
    printJson(io, { ...receipt, receipt: file });
    return;
  }
  printLine(io, `Erased ${receipt.person}: ${formatCounts(receipt.counts)}.`);
  printLine(
    io,
    receipt.scrubbed
      ? "The database file contains no remnants."
      : "Other processes use the database, so its write-ahead log may still contain remnants. End them and run this command again.",
  );
  for (const copy of receipt.copies) printLine(io, `This copy still contains the data: ${copy}`);
  for (const copy of receipt.copies_removed) printLine(io, `Deleted: ${copy}`);
  if (receipt.copies.length > 0) printNotice(io, "Add --backups to delete these copies too.");
  printLine(io, `Receipt: ${file}`);
}
