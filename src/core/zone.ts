import { Temporal } from "temporal-polyfill";
import { PostriderError } from "./errors.ts";

/** The name of the zone in the spelling of the zone database (`europe/berlin` → `Europe/Berlin`). */
export function assertZone(zone: string): string {
  try {
    return new Temporal.ZonedDateTime(0n, zone).timeZoneId;
  } catch (cause) {
    throw new PostriderError(
      "invalid_config",
      `${JSON.stringify(zone.slice(0, 80))} is not a known time zone; use a name such as "Europe/Berlin" or "UTC".`,
      { cause, details: { zone: zone.slice(0, 80) } },
    );
  }
}

/** Local date and time in a zone. */
export interface ZonedParts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

export function getZonedParts(now: number, zone: string): ZonedParts {
  const { year, month, day, hour, minute, second } = toZoned(now, zone);
  return { year, month, day, hour, minute, second };
}

/**
 * The newest daily boundary ≤ now. The boundary of a local day is the first instant at which the clock has reached
 * `atHour`:00. A repeated hour counts once, a skipped hour counts at the end of the gap, a skipped day has no boundary.
 */
export function findLastDailyBoundary(now: number, atHour: number, zone: string): number {
  const name = `${atHour} ${zone}`;
  const known = days.get(name);
  if (known !== undefined && known.from <= now && now < known.until) return known.from;
  const from = findBoundaryBefore(now, atHour, zone);
  if (days.size >= KEPT_DAYS) days.clear();
  days.set(name, { from, until: findNextDailyBoundary(now, atHour, zone) });
  return from;
}

/** Caches boundaries: every message needs one, and computing it takes 30 µs. */
const days = new Map<string, { readonly from: number; readonly until: number }>();
const KEPT_DAYS = 64;

function findBoundaryBefore(now: number, atHour: number, zone: string): number {
  const today = toZoned(now, zone).toPlainDate();
  // Starts with tomorrow, because clocks set back over midnight repeat yesterday's date after today's boundary.
  for (let days = 1; ; days--) {
    const boundary = computeBoundary(today.add({ days }), atHour, zone);
    if (boundary !== undefined && boundary <= now) return boundary;
  }
}

/** The first daily boundary > now. */
export function findNextDailyBoundary(now: number, atHour: number, zone: string): number {
  const today = toZoned(now, zone).toPlainDate();
  for (let days = 0; ; days++) {
    const boundary = computeBoundary(today.add({ days }), atHour, zone);
    if (boundary !== undefined && boundary > now) return boundary;
  }
}

function computeBoundary(day: Temporal.PlainDate, atHour: number, zone: string): number | undefined {
  const local = day.toPlainDateTime(new Temporal.PlainTime(atHour));
  // "compatible" returns the first of two instants, and in a gap one with another local time.
  const found = local.toZonedDateTime(zone, { disambiguation: "compatible" });
  if (found.toPlainDateTime().equals(local)) return found.epochMilliseconds;

  // In a gap, "compatible" adds the gap's length to the local time. The boundary is the end of the gap.
  const beforeGap = local.toZonedDateTime(zone, { disambiguation: "earlier" });
  const afterGap = beforeGap.getTimeZoneTransition("next") ?? found;
  const skipped =
    Temporal.PlainDate.compare(beforeGap, day) < 0 && Temporal.PlainDate.compare(day, afterGap) < 0;
  return skipped ? undefined : afterGap.epochMilliseconds;
}

function toZoned(now: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone);
}
