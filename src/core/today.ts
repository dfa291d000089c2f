import { Temporal } from "temporal-polyfill";

/** The date for the model. Without the time, so that the prompt can be cached for a day. */
export function formatToday(now: number, zone: string): string {
  const date = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
  return `Today is ${WEEKDAYS[date.dayOfWeek - 1]}, ${date.toString()} (${zone}).`;
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const;
