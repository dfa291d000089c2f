import { PostriderError } from "./errors.ts";
import { getZonedParts } from "./zone.ts";

/** `20260315_092437_c9a6f01b`: when it began on the wall clock of the home, and eight hex digits of chance. */
export function buildSessionId(now: number, zone: string, randomHex8: string): string {
  if (!/^[0-9a-f]{8}$/.test(randomHex8)) {
    throw new PostriderError("invalid_input", "A session id needs eight lower-case hex digits of chance.");
  }
  return `${formatWallClock(now, zone)}_${randomHex8}`;
}

/** The last second that was written out: every message brings an id along, in case it needs a new session. */
let lastWritten = { second: Number.NaN, zone: "", text: "" };

function formatWallClock(now: number, zone: string): string {
  const at = Math.floor(now / 1000);
  if (lastWritten.second === at && lastWritten.zone === zone) return lastWritten.text;
  const { year, month, day, hour, minute, second } = getZonedParts(now, zone);
  const date = `${padDigits(year, 4)}${padDigits(month, 2)}${padDigits(day, 2)}`;
  const text = `${date}_${padDigits(hour, 2)}${padDigits(minute, 2)}${padDigits(second, 2)}`;
  lastWritten = { second: at, zone, text };
  return text;
}

function padDigits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}
