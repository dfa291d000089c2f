import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addUsage, emptyUsage, sumUsage, toUsageSpan, type UsageEntry } from "./usage.ts";
import { sumByDay } from "./usage-days.ts";
import { getZonedParts } from "./zone.ts";

const entry = (at: number, inputTokens: number): UsageEntry => ({
  at: toUsageSpan(at),
  purpose: "answer",
  usage: addUsage(emptyUsage(), { inputTokens }),
});

describe("usage by day", () => {
  it("starts a day at midnight of the zone, also if that is no full hour of UTC", () => {
    const entries = [
      entry(Date.UTC(2026, 2, 15, 18, 14), 1),
      entry(Date.UTC(2026, 2, 15, 18, 16), 20),
      entry(Date.UTC(2026, 2, 15, 18, 31), 300),
    ];
    const days = (zone: string) => sumByDay(entries, zone).map(({ day, usage }) => [day, usage.inputTokens]);
    expect(days("UTC")).toEqual([["2026-03-15", 321]]);
    expect(days("Asia/Kolkata")).toEqual([
      ["2026-03-15", 21],
      ["2026-03-16", 300],
    ]);
    expect(days("Asia/Kathmandu")).toEqual([
      ["2026-03-15", 1],
      ["2026-03-16", 320],
    ]);
  });

  it("adds up to the total, each entry on its calendar date, in order", () => {
    const from = Date.UTC(2026, 9, 1);
    const at = fc.nat(60 * 24 * 60).map((minutes) => from + minutes * 60_000);
    const entries = fc.array(fc.tuple(at, fc.nat(1000)), { maxLength: 20 });
    const zone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata");
    fc.assert(
      fc.property(entries, zone, (given, name) => {
        const all = given.map(([instant, tokens]) => entry(instant, tokens));
        const days = sumByDay(all, name);
        expect(sumUsage(days.map(({ usage }) => usage))).toEqual(sumUsage(all.map(({ usage }) => usage)));
        const dates = all.map((one) => {
          const { year, month, day } = getZonedParts(one.at, name);
          return `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
        });
        expect(days.map(({ day }) => day)).toEqual([...new Set(dates)].toSorted());
      }),
      { numRuns: 50 },
    );
  });
});
