import { usageError } from "./command.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats an age in few letters: just now, 5m ago, 3h ago, yesterday, 4d ago, then the date. */
export function formatRelativeTime(at: number, now: number): string {
  const ago = now - at;
  if (ago < MINUTE) return "just now";
  if (ago < HOUR) return `${Math.floor(ago / MINUTE)}m ago`;
  if (ago < DAY) return `${Math.floor(ago / HOUR)}h ago`;
  if (ago < 2 * DAY) return "yesterday";
  if (ago < 7 * DAY) return `${Math.floor(ago / DAY)}d ago`;
  return formatDate(at);
}

/** Formats a date in this machine's zone: 2026-03-15. */
export function formatDate(at: number): string {
  const date = new Date(at);
  return `${padDigits(date.getFullYear(), 4)}-${padDigits(date.getMonth() + 1, 2)}-${padDigits(date.getDate(), 2)}`;
}

/** Formats a time in this machine's zone: 2026-03-15 09:24. */
export function formatDateTime(at: number): string {
  const date = new Date(at);
  return `${formatDate(at)} ${padDigits(date.getHours(), 2)}:${padDigits(date.getMinutes(), 2)}`;
}

const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** Parses `30m`, `12h`, `7d`, `2w` (before now) or a date such as 2026-03-15. */
export function parseSince(text: string, now: number, command: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const length = UNITS[unit];
  if (length !== undefined) return Math.max(0, now - Number(count) * length);
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  if (formatDate(date.getTime()) === text) return Math.max(0, date.getTime());
  throw usageError(`--since must be like 30m, 12h, 7d, 2w or 2026-03-15, not "${text}"`, command);
}

function padDigits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}
