import { beforeAll, describe, expect, it } from "vitest";
import { checkCopy } from "./backup-kill/checker.ts";
import { type BackupKillReport, driveBackupKills } from "./backup-kill/drive.ts";
import { keysIn } from "./kill/checker.ts";
import { copyDamaged } from "./support/copy-damaged.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_260_305;
const BACKUPS = schedule(2, 5);

describe("backups of a home with 64 busy sessions and killed writers", () => {
  let report: BackupKillReport;

  beforeAll(async () => {
    const temporary = temporaryFolder();
    report = await driveBackupKills({ folder: temporary.path, seed: SEED, backups: BACKUPS });
    const { copies, kills, operations } = report;
    console.log(`seed ${SEED}: copies ${copies}, kills ${kills}, operations ${operations}`);
    return () => temporary.remove();
  }, 120_000);

  it("are of one instant: they contain every message acknowledged by then, once", () => {
    expect(report.errors).toEqual([]);
    expect(report.copies).toBe(BACKUPS);
    expect(report.kills).toBeGreaterThan(0);
    expect(report.operations).toBeGreaterThan(100);
    expect(report.lost).toEqual([]);
    expect(report.doubled).toEqual([]);
    expect(report.broken).toEqual([]);
  });

  // A check that cannot fail proves nothing.
  it("are checked by a judge that detects gaps and duplicates", () => {
    const { last, journal } = report;
    if (last === undefined) throw new Error("there is no copy");
    const present = keysIn(last.database);
    const one = journal.find(
      ({ key, name, doneAt = Number.POSITIVE_INFINITY }) =>
        name === "append" && present.has(key) && doneAt < last.before,
    );
    if (one === undefined) throw new Error("nothing was appended");
    const texts = `text like '[${one.key}] %'`;
    const gap = copyDamaged(last.database, `delete from messages where ${texts}`);
    expect(checkCopy(gap, journal, last).lost).toContainEqual(expect.stringContaining(one.key));
    // The start time of the copy is unknown, but its content shows that this was acknowledged before.
    expect(checkCopy(gap, journal, { ...last, before: 0 }).lost).toContainEqual(
      expect.stringContaining(one.key),
    );
    const double = copyDamaged(
      last.database,
      `insert into messages (id, at, role, text) select (select max(id) from messages) + 1, at, role, text
       from messages where ${texts} limit 1`,
    );
    expect(checkCopy(double, journal, last).doubled).toContainEqual(expect.stringContaining(one.key));
  });
});
