import { describe, expect, it } from "vitest";
import { formatDate, formatRelativeTime, parseSince } from "./format-time.ts";

const NOW = Date.UTC(2026, 2, 16, 15, 0, 0);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("relative time", () => {
  it.each([
    [0, "just now"],
    [-5 * MINUTE, "just now"],
    [59_999, "just now"],
    [MINUTE, "1m ago"],
    [59 * MINUTE, "59m ago"],
    [HOUR, "1h ago"],
    [DAY - 1, "23h ago"],
    [DAY, "yesterday"],
    [2 * DAY - 1, "yesterday"],
    [2 * DAY, "2d ago"],
    [7 * DAY - 1, "6d ago"],
    [7 * DAY, formatDate(NOW - 7 * DAY)],
  ])("formats %i ms ago as %j", (ago, words) => {
    expect(formatRelativeTime(NOW - ago, NOW)).toBe(words);
  });

  it("parses a duration or a date", () => {
    expect(parseSince("30m", NOW, "x")).toBe(NOW - 30 * MINUTE);
    expect(parseSince("12h", NOW, "x")).toBe(NOW - 12 * HOUR);
    expect(parseSince("7d", NOW, "x")).toBe(NOW - 7 * DAY);
    expect(parseSince("2w", NOW, "x")).toBe(NOW - 14 * DAY);
    expect(formatDate(parseSince("2026-03-01", NOW, "x"))).toBe("2026-03-01");
    expect(parseSince("999999w", NOW, "x")).toBe(0);
  });

  it.each(["", "7", "7x", "-1d", "2026-02-30", "yesterday"])("refuses %j", (text) => {
    expect(() => parseSince(text, NOW, "sessions list")).toThrow(/--since must be/);
  });
});
