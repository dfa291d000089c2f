import { beforeAll, describe, expect, it } from "vitest";
import { stateOf } from "./import/imported.ts";
import { checkSame } from "./import-kill/checker.ts";
import { driveImportKills, type ImportKillReport } from "./import-kill/drive.ts";
import { copyDamaged } from "./support/copy-damaged.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_260_306;
const KILLS = schedule(2, 5);

describe("an import that is killed repeatedly", () => {
  let report: ImportKillReport;

  beforeAll(async () => {
    const temporary = temporaryFolder();
    report = await driveImportKills({ folder: temporary.path, seed: SEED, kills: KILLS, sessions: 80 });
    console.log(`seed ${SEED}: kills ${report.kills}, in flight ${report.inFlight}`);
    return () => temporary.remove();
  }, 120_000);

  it("has the same result as an undisturbed import, and adds nothing the next time", () => {
    expect(report.errors).toEqual([]);
    expect(report.kills).toBe(KILLS);
    expect(report.lost).toEqual([]);
    expect(report.doubled).toEqual([]);
    expect(report.broken).toEqual([]);
  });

  // A check that cannot fail proves nothing.
  it.each([
    ["lost", "a message", "delete from messages where id = (select max(id) from messages)"],
    ["lost", "a title", "update sessions set title = null"],
    ["lost", "where a chat goes on", "delete from conversations"],
    [
      "doubled",
      "a message",
      "insert into messages (id, at, role, text) select max(id) + 1, at, role, text from messages",
    ],
  ] as const)("is checked by something that would notice: %s, %s", (kind, _, harm) => {
    const found = checkSame(stateOf(report.whole), stateOf(copyDamaged(report.whole, harm)));
    expect(found[kind]).not.toEqual([]);
  });
});
