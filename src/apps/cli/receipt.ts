import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { PersonCounts } from "../../core/person.ts";
import { buildTemporaryName, hasFile, moveIntoPlace } from "../../stores/sqlite/upkeep/files.ts";
import { formatFileTimestamp } from "../../stores/sqlite/upkeep/replace-database.ts";
import type { Home } from "../home.ts";

/** What an erasure leaves behind. It says how much there was, and nothing of what it was. */
export interface Receipt {
  readonly person: string;
  readonly state: "begun" | "done";
  readonly started_at: number;
  readonly finished_at: number | null;
  /** What was found when it began. When it is done, nothing of it is left. */
  readonly counts: PersonCounts;
  /** No word is left in the file, nor in its log. */
  readonly scrubbed: boolean;
  /** Copies of the database that still hold the words. */
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

/** The receipt of an erasure that was cut short, so that it can be brought to its end. */
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
      // Not one of ours after all.
    }
  }
  return undefined;
}

/** Every copy of the database in the home: daily ones, and what restoring, salvaging and updating have kept. */
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
