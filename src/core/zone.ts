import { Temporal } from "temporal-polyfill";
import { PostriderError } from "./errors.ts";

/** The zone's name as the zone database spells it (`europe/berlin` → `Europe/Berlin`). */
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

/** What a wall clock and a calendar in a zone show. */
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
 * The newest daily boundary ≤ now. Each local day has exactly one: the first instant at which its wall clock
 * has reached `atHour`:00. So a repeated hour counts once, an hour that the clocks skip counts as soon as they
 * have skipped it, and a day that the calendar skips has none.
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

/** Every message of a day asks the same question, and the calendar takes 30 µs to answer it. */
const days = new Map<string, { readonly from: number; readonly until: number }>();
const KEPT_DAYS = 64;

function findBoundaryBefore(now: number, atHour: number, zone: string): number {
  const today = toZoned(now, zone).toPlainDate();
  // From tomorrow, because clocks set back over midnight show yesterday's date again after today's boundary.
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
  const wanted = day.toPlainDateTime(new Temporal.PlainTime(atHour));
  // "compatible" takes the first of two; in a gap its answer shows another time than the one asked for.
  const found = wanted.toZonedDateTime(zone, { disambiguation: "compatible" });
  if (found.toPlainDateTime().equals(wanted)) return found.epochMilliseconds;

  // "compatible" would go as far behind a gap as the wanted time lies inside it; the clocks are past it sooner.
  const beforeGap = wanted.toZonedDateTime(zone, { disambiguation: "earlier" });
  const afterGap = beforeGap.getTimeZoneTransition("next") ?? found;
  const skipped =
    Temporal.PlainDate.compare(beforeGap, day) < 0 && Temporal.PlainDate.compare(day, afterGap) < 0;
  return skipped ? undefined : afterGap.epochMilliseconds;
}

function toZoned(now: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone);
}
