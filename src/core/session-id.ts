import { PostriderError } from "./errors.ts";
import { zonedParts } from "./zone.ts";

/** `20260315_092437_c9a6f01b`: when it began on the wall clock of the home, and eight hex digits of chance. */
export function sessionId(now: number, zone: string, randomHex8: string): string {
  if (!/^[0-9a-f]{8}$/.test(randomHex8)) {
    throw new PostriderError("invalid_input", "A session id needs eight lower-case hex digits of chance.");
  }
  return `${wallClock(now, zone)}_${randomHex8}`;
}

/** The last second that was written out: every message brings an id along, in case it needs a new session. */
let written = { second: Number.NaN, zone: "", text: "" };

function wallClock(now: number, zone: string): string {
  const at = Math.floor(now / 1000);
  if (written.second === at && written.zone === zone) return written.text;
  const { year, month, day, hour, minute, second } = zonedParts(now, zone);
  const date = `${digits(year, 4)}${digits(month, 2)}${digits(day, 2)}`;
  const text = `${date}_${digits(hour, 2)}${digits(minute, 2)}${digits(second, 2)}`;
  written = { second: at, zone, text };
  return text;
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}
