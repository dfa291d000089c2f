import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { driveFullDisk, type FullDiskReport } from "./full-disk/drive.ts";
import { check } from "./kill/checker.ts";
import type { Operation, OperationName } from "./kill/journal.ts";
import { copyDamaged } from "./support/copy-damaged.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_260_303;
const FILLS = schedule(5, 15);

describe("processes on a disk that is full repeatedly", () => {
  let file: string;
  let report: FullDiskReport;

  beforeAll(async () => {
    const temporary = temporaryFolder();
    file = join(temporary.path, "postrider.db");
    report = await driveFullDisk({ file, seed: SEED, fills: FILLS });
    const { fills, kills, refused, operations } = report;
    console.log(`seed ${SEED}: full ${fills}, kills ${kills}, operations ${operations}, refused ${refused}`);
    return () => temporary.remove();
  }, 120_000);

  it("get errors for writes without space, and continue", () => {
    expect(report.errors).toEqual([]);
    expect(report.fills).toBeGreaterThanOrEqual(FILLS);
    expect(report.refused).toBeGreaterThan(FILLS);
    expect(report.operations).toBeGreaterThan(FILLS * 10);
    expect(report.kills).toBeGreaterThanOrEqual(schedule(0, 1));
    if (process.platform === "linux") expect(report.wentOn).toBeGreaterThan(0);
  });

  it("keep every acknowledged operation once and no part of a refused one, also when killed", () => {
    expect(report.lost).toEqual([]);
    expect(report.doubled).toEqual([]);
    expect(report.broken).toEqual([]);
  });

  // A check that cannot fail proves nothing.
  it("are checked by a judge that detects a loss", () => {
    const one = acknowledged("append");
    const copy = copyDamaged(file, `delete from messages where text like '[${one.key}] 1/%'`);
    expect(check(copy, report.journal, true).lost).toContainEqual(expect.stringContaining(one.key));
  });

  it.each<OperationName>(["append", "accept", "finish", "open", "create", "fork", "hold", "title"])(
    "are checked by a judge that detects a refused operation that was stored: %s",
    (name) => {
      const one = acknowledged(name);
      const asRefused = report.journal.map((other): Operation => {
        if (other !== one) return other;
        const { result: _, ...begun } = one;
        return { ...begun, refused: "disk_full" };
      });
      expect(check(file, asRefused, true).broken).toContainEqual(
        expect.stringContaining(`${name} ${one.key} (refused)`),
      );
    },
  );

  it("are checked by a judge that detects a refused removal that took place", () => {
    const refused = { key: "0-0", name: "remove", session: "gone", count: 0, refused: "disk_full" } as const;
    expect(check(file, [...report.journal, { ...refused, begunAt: 0 }], true).lost).toEqual([
      "remove 0-0 (refused): gone is gone",
    ]);
  });

  /** One that is still visible in an existing session. */
  function acknowledged(name: OperationName): Operation {
    const [live, titles] = look(file, (db) => [
      new Set(db.prepare("select id from sessions where removed_at is null").pluck().all()),
      new Set(db.prepare("select title from sessions").pluck().all()),
    ]);
    const found = report.journal.find((one) => {
      const session = ["open", "create", "fork"].includes(name) ? one.result?.session : one.session;
      if (one.name !== name || one.result === undefined || !live.has(session)) return false;
      return name !== "title" || titles.has(`[${one.key}]`);
    });
    if (found === undefined) throw new Error(`no ${name} was acknowledged`);
    return found;
  }
});
