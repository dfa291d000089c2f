import { beforeAll, describe, expect, it } from "vitest";
import { type ClockReport, driveClockSteps, LATEST_MS, latenessIn } from "./gateway/clock-steps.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_261_117;
const STEPS = schedule(12, 48);

describe("a gateway whose system clock is set back and ahead repeatedly", () => {
  let report: ClockReport;

  beforeAll(async () => {
    const folder = temporaryFolder();
    report = await driveClockSteps({ folder: folder.path, seed: SEED, steps: STEPS });
    const { steps, kills, said, answered, told, allowed, slowestMs } = report;
    console.log(
      `seed ${SEED}: steps ${steps}, kills ${kills}, texts ${said}, answered ${answered}, told ${told.length}, questions allowed ${allowed}, slowest ${slowestMs} ms`,
    );
    return () => folder.remove();
  }, 300_000);

  it("gives everybody an answer or a notice, and logs no errors", () => {
    expect(report.errors).toEqual([]);
    expect(report.lost).toEqual([]);
    expect(report.steps).toBeGreaterThan(5);
    expect(report.said).toBeGreaterThan(20);
    expect(report.allowed).toBeGreaterThan(0);
  });

  it("delays no answer by more than a minute", () => {
    expect(report.late).toEqual([]);
  });

  it("sends no answer to another person, and repeats nothing", () => {
    expect([report.crossed, report.repeated, report.repeatedWithMark, report.doneTwice]).toEqual([
      [],
      [],
      [],
      [],
    ]);
  });
});

it("detects a late answer", () => {
  const said = { kind: "said", chat: "c", type: "dm", person: "a", messageId: "1", at: 5 } as const;
  const sent = { kind: "sent", chat: "c", messageId: "2", members: [], nonce: "n" } as const;
  const answered = (...times: readonly number[]) =>
    latenessIn(
      times.flatMap((at, index) => [
        { ...said, seq: index * 2, text: `[a-${index + 1}]` },
        { ...sent, seq: index * 2 + 1, text: `to [a-${index + 1}]`, at },
      ]),
    ).late;
  expect(answered(5 + LATEST_MS, 6, 7)).toEqual([]);
  expect(answered(6 + LATEST_MS, 6, 7)).toEqual(["[a-1] was answered after 60 seconds"]);
  const usual = 5 + LATEST_MS / 5;
  expect(answered(5 + 2 * LATEST_MS, usual, usual)).toEqual([]);
  expect(answered(6 + 2 * LATEST_MS, usual, usual)).toEqual(["[a-1] was answered after 120 seconds"]);
});
