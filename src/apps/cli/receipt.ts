import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { PersonCounts } from "../../core/person.ts";
import { buildTemporaryName, hasFile, moveIntoPlace } from "../../stores/sqlite/upkeep/files.ts";
import { formatFileTimestamp } from "../../stores/sqlite/upkeep/replace-database.ts";
import type { Home } from "../home.ts";

/** The receipt of an erasure: only counts, no content. */
export interface Receipt {
  readonly person: string;
  readonly state: "begun" | "done";
  readonly started_at: number;
  readonly finished_at: number | null;
  /** The counts at the start of the erasure. */
  readonly counts: PersonCounts;
  /** The database file and its write-ahead log contain no remnants. */
  readonly scrubbed: boolean;
  /** Copies of the database that still contain the data. */
  readonly copies: readonly string[];
  readonly copies_removed: readonly string[];
}

export function chooseReceiptFile({ reports }: Home, now: number): string {
  for (let number = 1; ; number += 1) {
    const file = join(reports, `erasure-${formatFileTimestamp(now)}${number === 1 ? "" : `-${number}`}.json`);
    if (!hasFile(file)) return file;
  }
}

export function writeReceipt(file: string, receipt: Receipt): void {
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
  const unfinished = buildTemporaryName(file);
  try {
    writeFileSync(unfinished, `${JSON.stringify(receipt, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    moveIntoPlace(unfinished, file, true);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Finds the receipt of an interrupted erasure, so that it can be finished. */
export function findUnfinishedReceipt(
  { reports }: Home,
  person?: string,
): { file: string; receipt: Receipt } | undefined {
  if (!hasFile(reports)) return undefined;
  for (const name of readdirSync(reports).toSorted().toReversed()) {
    if (!/^erasure-\d{8}T\d{6}Z(-\d+)?\.json$/.test(name)) continue;
    const file = join(reports, name);
    try {
      const receipt = JSON.parse(readFileSync(file, "utf8")) as Receipt;
      if (receipt.state === "begun" && (person === undefined || receipt.person === person))
        return { file, receipt };
    } catch {
      // The file is not a receipt.
    }
  }
  return undefined;
}

/** Lists all copies of the database in the home: daily copies, and those of restore, salvage and migrations. */
export function listDatabaseCopies(home: Home): string[] {
  const inside = (folder: string): string[] => (hasFile(folder) ? readdirSync(folder) : []);
  const database = basename(home.database);
  return [
    ...inside(home.backups)
      .filter((name) => name.includes(".db"))
      .map((name) => join(home.backups, name)),
    ...inside(home.folder)
      .filter((name) => name.startsWith(`${database}.`))
      .map((name) => join(home.folder, name)),
  ].toSorted();
}
