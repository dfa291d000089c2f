import { sumUsage, type Usage, type UsageEntry } from "./usage.ts";
import { findLastDailyBoundary, findNextDailyBoundary, getZonedParts } from "./zone.ts";

export interface DayUsage {
  /** `2026-03-15` */
  readonly day: string;
  readonly usage: Usage;
}

/** The sum of each day with usage, in order. Days are those of the time zone. */
export function sumByDay(entries: Iterable<UsageEntry>, zone: string): DayUsage[] {
  const sorted = [...entries].toSorted((a, b) => a.at - b.at);
  const days: { readonly day: string; readonly usages: Usage[] }[] = [];
  let until = Number.NEGATIVE_INFINITY;
  for (const { at, usage } of sorted) {
    if (at >= until) {
      until = findNextDailyBoundary(at, 0, zone);
      days.push({ day: formatDay(findLastDailyBoundary(at, 0, zone), zone), usages: [] });
    }
    days.at(-1)?.usages.push(usage);
  }
  return days.map(({ day, usages }) => ({ day, usage: sumUsage(usages) }));
}

function formatDay(at: number, zone: string): string {
  const { year, month, day } = getZonedParts(at, zone);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}
