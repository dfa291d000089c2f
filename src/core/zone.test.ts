import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PostriderError } from "./errors.ts";
import { assertZone, findLastDailyBoundary, findNextDailyBoundary, getZonedParts } from "./zone.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const at = (iso: string) => {
  const instant = Date.parse(iso);
  expect(instant, iso).not.toBeNaN();
  return instant;
};
const iso = (instant: number) => new Date(instant).toISOString();

/** Days with clock changes that a naive calculation gets wrong. */
const TURNS: readonly (readonly [zone: string, turn: string])[] = [
  ["America/New_York", "2026-03-08T07:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00:00Z"],
  ["America/Sao_Paulo", "2018-02-18T02:00:00Z"],
  ["Africa/Cairo", "2026-04-23T22:00:00Z"],
  ["Asia/Beirut", "2026-03-28T22:00:00Z"],
  ["America/Nuuk", "2025-03-30T01:00:00Z"],
  ["America/Nuuk", "2025-10-26T01:00:00Z"],
  ["Antarctica/Troll", "2026-03-29T01:00:00Z"],
  ["Antarctica/Troll", "2026-10-25T01:00:00Z"],
  ["America/St_Johns", "2010-03-14T03:31:00Z"],
  ["America/St_Johns", "2010-11-07T02:31:00Z"],
  ["Asia/Kolkata", "2026-03-29T01:00:00Z"],
  ["Asia/Kathmandu", "2026-03-29T01:00:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["Pacific/Kwajalein", "1993-08-21T12:00:00Z"],
  ["UTC", "2026-01-01T00:00:00Z"],
];

const someMoment = fc.constantFrom(...TURNS).chain(([zone, turn]) =>
  fc.record({
    zone: fc.constant(zone),
    atHour: fc.integer({ min: 0, max: 23 }),
    now: fc.oneof(
      fc.integer({ min: -3 * DAY, max: 3 * DAY }).map((shift) => at(turn) + shift),
      fc.integer({ min: at("1990-01-01T00:00:00Z"), max: at("2037-01-01T00:00:00Z") }),
    ),
  }),
);

describe("a zone's name", () => {
  it("is accepted in any case and returned in the spelling of the zone database", () => {
    expect(assertZone("Europe/Berlin")).toBe("Europe/Berlin");
    expect(assertZone("europe/berlin")).toBe("Europe/Berlin");
    expect(assertZone("UTC")).toBe("UTC");
  });

  it.each([
    "",
    "Europe/Berln",
    "constructor",
    "2026-01-01T00:00[Europe/Berlin]",
    `Europe/\n${"x".repeat(500)}`,
  ])("is refused if there is no such zone, with an example: %j", (zone) => {
    const error = catchError(() => assertZone(zone));
    expect(error.code).toBe("invalid_config");
    expect(error.message).toContain("Europe/Berlin");
    expect(error.message).not.toContain("\n");
    expect(error.message.length).toBeLessThan(300);
  });
});

describe("the local time of a zone", () => {
  it("is the time on a clock there", () => {
    expect(getZonedParts(at("2026-03-15T03:54:37.999Z"), "Asia/Kathmandu")).toEqual({
      year: 2026,
      month: 3,
      day: 15,
      hour: 9,
      minute: 39,
      second: 37,
    });
    expect(getZonedParts(at("2026-01-01T00:00:00Z"), "America/New_York")).toMatchObject({
      year: 2025,
      month: 12,
      day: 31,
      hour: 19,
    });
  });
});

describe("the last daily boundary", () => {
  it.each<[why: string, zone: string, hour: number, now: string, boundary: string]>([
    [
      "is today's once the hour is reached",
      "Europe/Berlin",
      4,
      "2026-07-01T02:00:00.000Z",
      "2026-07-01T02:00:00.000Z",
    ],
    [
      "is yesterday's a millisecond before",
      "Europe/Berlin",
      4,
      "2026-07-01T01:59:59.999Z",
      "2026-06-30T02:00:00.000Z",
    ],
    ["follows winter time", "Europe/Berlin", 4, "2026-10-25T12:00:00Z", "2026-10-25T03:00:00.000Z"],
    ["knows half hours", "Asia/Kolkata", 4, "2026-07-01T12:00:00Z", "2026-06-30T22:30:00.000Z"],
    ["knows quarter hours", "Asia/Kathmandu", 4, "2026-07-01T12:00:00Z", "2026-06-30T22:15:00.000Z"],
    [
      "comes when the clocks skip its hour",
      "America/New_York",
      2,
      "2026-03-08T07:00:00Z",
      "2026-03-08T07:00:00.000Z",
    ],
    [
      "is not there before the skip",
      "America/New_York",
      2,
      "2026-03-08T06:59:59.999Z",
      "2026-03-07T07:00:00.000Z",
    ],
    [
      "is the first of a repeated hour",
      "America/New_York",
      1,
      "2026-11-01T05:00:00Z",
      "2026-11-01T05:00:00.000Z",
    ],
    [
      "does not come again when the hour repeats",
      "America/New_York",
      1,
      "2026-11-01T06:30:00Z",
      "2026-11-01T05:00:00.000Z",
    ],
    [
      "comes after a skipped half hour",
      "Australia/Lord_Howe",
      2,
      "2026-10-03T15:30:00Z",
      "2026-10-03T15:30:00.000Z",
    ],
    [
      "is the first of a repeated half hour",
      "Australia/Lord_Howe",
      2,
      "2026-04-04T16:00:00Z",
      "2026-04-04T15:30:00.000Z",
    ],
    [
      "comes at one when midnight is skipped",
      "America/Sao_Paulo",
      0,
      "2018-11-04T03:00:00Z",
      "2018-11-04T03:00:00.000Z",
    ],
    [
      "comes at one when Cairo skips midnight",
      "Africa/Cairo",
      0,
      "2026-04-24T05:00:00Z",
      "2026-04-23T22:00:00.000Z",
    ],
    [
      "comes at midnight when Nuuk skips 23:00",
      "America/Nuuk",
      23,
      "2025-03-30T01:00:00Z",
      "2025-03-30T01:00:00.000Z",
    ],
    [
      "comes at once when two hours are skipped",
      "Antarctica/Troll",
      2,
      "2026-03-29T01:30:00Z",
      "2026-03-29T01:00:00.000Z",
    ],
    [
      "comes at 01:01 when 00:01 is followed by it",
      "America/St_Johns",
      1,
      "2010-03-14T03:45:00Z",
      "2010-03-14T03:31:00.000Z",
    ],
    [
      "stays when clocks go back over midnight",
      "America/St_Johns",
      0,
      "2010-11-07T02:45:00Z",
      "2010-11-07T02:30:00.000Z",
    ],
    [
      "is the day before's after a skipped day",
      "Pacific/Apia",
      4,
      "2011-12-30T13:59:59Z",
      "2011-12-29T14:00:00.000Z",
    ],
    ["goes on after a skipped day", "Pacific/Apia", 4, "2011-12-30T14:00:00Z", "2011-12-30T14:00:00.000Z"],
    [
      "at midnight too after a skipped day",
      "Pacific/Apia",
      0,
      "2011-12-30T10:00:00Z",
      "2011-12-30T10:00:00.000Z",
    ],
  ])("%s (%s at %i)", (_why, zone, hour, now, boundary) => {
    expect(iso(findLastDailyBoundary(at(now), hour, zone))).toBe(boundary);
  });

  it("is never after now, and the next one always is", () => {
    fc.assert(
      fc.property(someMoment, ({ now, atHour, zone }) => {
        const last = findLastDailyBoundary(now, atHour, zone);
        const next = findNextDailyBoundary(now, atHour, zone);
        expect(last).toBeLessThanOrEqual(now);
        expect(next).toBeGreaterThan(now);
        // There is no boundary between them.
        expect(findLastDailyBoundary(next - 1, atHour, zone)).toBe(last);
        expect(findNextDailyBoundary(last, atHour, zone)).toBe(next);
        expect(findLastDailyBoundary(last, atHour, zone)).toBe(last);
        expect(findLastDailyBoundary(next, atHour, zone)).toBe(next);
      }),
    );
  });

  it("comes about once a day, with any clock changes", () => {
    fc.assert(
      fc.property(someMoment, ({ now, atHour, zone }) => {
        const apart = findNextDailyBoundary(now, atHour, zone) - findLastDailyBoundary(now, atHour, zone);
        expect(apart).toBeGreaterThanOrEqual(22 * HOUR);
        expect(apart).toBeLessThanOrEqual(26 * HOUR);
      }),
    );
  });

  it("never decreases", () => {
    fc.assert(
      fc.property(someMoment, fc.integer({ min: 0, max: 3 * DAY }), ({ now, atHour, zone }, later) => {
        expect(findLastDailyBoundary(now + later, atHour, zone)).toBeGreaterThanOrEqual(
          findLastDailyBoundary(now, atHour, zone),
        );
      }),
    );
  });

  // An oracle without arithmetic: it reads the local clock minute by minute.
  it.each(TURNS)("is when the clock in %s around %s reaches the hour", (zone, turn) => {
    const from = at(turn) - 3 * DAY;
    const seen = watch(zone, from, at(turn) + 2 * DAY);
    for (const atHour of [0, 1, 2, 3, 4, 23]) {
      const boundaries = new Set<number>();
      for (const day of new Set(seen.map(({ day }) => day))) {
        const reached = seen.find(({ wall }) => wall >= `${day} ${String(atHour).padStart(2, "0")}:00`);
        if (reached && reached.instant > from) boundaries.add(reached.instant);
      }
      const found = new Set<number>();
      let next = findNextDailyBoundary(from, atHour, zone);
      for (; next < at(turn) + 2 * DAY; next = findNextDailyBoundary(next, atHour, zone)) found.add(next);
      expect([...found].map(iso), `${atHour}:00`).toEqual([...boundaries].map(iso));
    }
  });
});

function watch(zone: string, from: number, to: number) {
  const clock = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "short",
  });
  const seen: { instant: number; day: string; wall: string }[] = [];
  for (let instant = from; instant < to; instant += 60_000) {
    const wall = clock.format(instant);
    seen.push({ instant, day: wall.slice(0, 10), wall });
  }
  return seen;
}

function catchError(act: () => unknown): PostriderError {
  try {
    act();
  } catch (error) {
    if (error instanceof PostriderError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
