import { describe, expect, it } from "vitest";
import { createInstantReader } from "./instant-reader.ts";

const berlin = createInstantReader("Europe/Berlin");
const utc = createInstantReader("UTC");

describe("an instant", () => {
  it("is read from fractional seconds, and from milliseconds for large numbers", () => {
    expect(utc(1773566677.123456)).toBe(1773566677123);
    expect(utc(1773566677.9996)).toBe(1773566678000);
    expect(utc(0)).toBe(0);
    expect(utc(1773566677123)).toBe(1773566677123);
  });

  it("is read from clock time in the given zone, in summer and in winter", () => {
    expect(utc("2026-03-15T09:24:37.123456")).toBe(Date.UTC(2026, 2, 15, 9, 24, 37, 123));
    expect(berlin("2026-01-15T09:24:37")).toBe(Date.UTC(2026, 0, 15, 8, 24, 37));
    expect(berlin("2026-07-15 09:24:37.5")).toBe(Date.UTC(2026, 6, 15, 7, 24, 37, 500));
    expect(berlin("2026-07-15T09:24")).toBe(Date.UTC(2026, 6, 15, 7, 24));
  });

  it("is read from clock time with an offset, in any zone", () => {
    expect(berlin("2026-03-15T09:24:37+00:00")).toBe(Date.UTC(2026, 2, 15, 9, 24, 37));
    expect(berlin("2026-03-15T09:24:37.250Z")).toBe(Date.UTC(2026, 2, 15, 9, 24, 37, 250));
  });

  it.each([
    null,
    undefined,
    "",
    "yesterday",
    "2026-13-01T00:00:00",
    -5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e300,
    {},
  ])("is none: %s", (value) => {
    expect(utc(value)).toBeUndefined();
  });
});
