import { describe, expect, it } from "vitest";
import { formatToday } from "./today.ts";

const at = (instant: string, zone: string): string => formatToday(Date.parse(instant), zone);

describe("the date for the model", () => {
  it("contains the weekday, the date and the zone", () => {
    expect(at("2026-11-17T12:00:00Z", "Europe/Berlin")).toBe("Today is Tuesday, 2026-11-17 (Europe/Berlin).");
  });

  it("is the date in the zone, not in UTC", () => {
    expect(at("2026-11-17T23:30:00Z", "UTC")).toBe("Today is Tuesday, 2026-11-17 (UTC).");
    expect(at("2026-11-17T23:30:00Z", "Asia/Tokyo")).toBe("Today is Wednesday, 2026-11-18 (Asia/Tokyo).");
    expect(at("2026-11-18T07:00:00Z", "America/Los_Angeles")).toContain("Tuesday, 2026-11-17");
  });

  it("changes at midnight and at no other moment of the day", () => {
    const day = Array.from({ length: 24 * 60 }, (_, minute) =>
      formatToday(Date.parse("2026-03-29T00:00:00+01:00") + minute * 60_000, "Europe/Berlin"),
    );
    // The clocks go forward on this day, so the last of 24 hours belongs to the next date.
    expect(new Set(day)).toEqual(
      new Set([
        "Today is Sunday, 2026-03-29 (Europe/Berlin).",
        "Today is Monday, 2026-03-30 (Europe/Berlin).",
      ]),
    );
    expect(day.findIndex((line) => line.includes("Monday"))).toBe(23 * 60);
  });

  it("supports every weekday", () => {
    const names = Array.from(
      { length: 7 },
      (_, day) => at(`2026-11-${16 + day}T12:00:00Z`, "UTC").split(/[ ,]/)[2],
    );
    expect(names).toEqual(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]);
  });
});
