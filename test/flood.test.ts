import { beforeAll, describe, expect, it } from "vitest";
import { driveFlood, type FloodReport, MOST_TIMES_SLOWER, STRANGERS } from "./flood/drive.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_261_117;
const KILLS = schedule(1, 2);

describe("a gateway on Telegram that is flooded by strangers and members, and killed in every second flood", () => {
  let report: FloodReport;

  beforeAll(async () => {
    const folder = temporaryFolder();
    report = await driveFlood({ folder: folder.path, seed: SEED, kills: KILLS });
    const { said, answered, flood, quietMs, floodMs, strangerRows, strangerAnswers } = report;
    console.log(
      `seed ${SEED}: honest texts ${said}, answered ${answered}; flood ${flood}; median ${quietMs.toFixed(0)} ms without and ${floodMs.toFixed(0)} ms in a flood; strangers left ${strangerRows} rows and got ${strangerAnswers} codes`,
    );
    return () => folder.remove();
  }, 200_000);

  it("loses, misdirects and repeats no message of other people, and logs no errors", () => {
    expect(report.errors).toEqual([]);
    expect(report.lost).toEqual([]);
    expect(report.answered + report.told).toBe(report.said);
    expect([...report.crossed, ...report.repeated, ...report.disordered]).toEqual([]);
    expect(report.repeatedWithMark.length).toBeLessThanOrEqual(report.leftSends);
  });

  it("answers other people during a flood within a limited multiple of the usual time", () => {
    expect(report.floodMs / report.quietMs).toBeLessThan(MOST_TIMES_SLOWER);
  });

  it("gives each stranger one code, and keeps one row of each", () => {
    expect(report.strangerAnswers).toBeLessThanOrEqual(STRANGERS);
    expect(report.strangerRows).toBeLessThanOrEqual(STRANGERS);
  });
});
