import { PostriderError } from "./errors.ts";
import { getZonedParts } from "./zone.ts";

/** `20260315_092437_c9a6f01b`: the local start time and eight random hex digits. */
export function buildSessionId(now: number, zone: string, randomHex8: string): string {
  if (!/^[0-9a-f]{8}$/.test(randomHex8)) {
    throw new PostriderError("invalid_input", "A session id needs eight random lower-case hex digits.");
  }
  return `${formatWallClock(now, zone)}_${randomHex8}`;
}

/** Caches the last result: every message brings an id in case it needs a new session. */
let cached = { second: Number.NaN, zone: "", text: "" };

function formatWallClock(now: number, zone: string): string {
  const at = Math.floor(now / 1000);
  if (cached.second === at && cached.zone === zone) return cached.text;
  const { year, month, day, hour, minute, second } = getZonedParts(now, zone);
  const date = `${padDigits(year, 4)}${padDigits(month, 2)}${padDigits(day, 2)}`;
  const text = `${date}_${padDigits(hour, 2)}${padDigits(minute, 2)}${padDigits(second, 2)}`;
  cached = { second: at, zone, text };
  return text;
}

function padDigits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}
