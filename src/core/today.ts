import { Temporal } from "temporal-polyfill";

/** Tells the model the date. It changes once a day, at midnight in the zone, so that more of a prompt can be cached. */
export function formatToday(now: number, zone: string): string {
  const date = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
  return `Today is ${WEEKDAYS[date.dayOfWeek - 1]}, ${date.toString()} (${zone}).`;
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const;
