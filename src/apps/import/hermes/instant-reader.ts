import { Temporal } from "temporal-polyfill";

/** Reads timestamps of a home: float seconds, or wall-clock times of the machine that wrote them. */
export type InstantReader = (value: unknown) => number | undefined;

/** Larger numbers are milliseconds: as seconds, this is the year 5138. */
const LATEST_SECONDS = 1e11;
const LAST_DATE = 8.64e15;
const KEPT_MINUTES = 4096;
const LOCAL = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?$/;

/** Wall-clock times without an offset are in `zone`. Undefined for anything but a time after 1970. */
export function createInstantReader(zone: string): InstantReader {
  // Cached per minute, because a zone lookup takes 30 µs.
  const minutes = new Map<string, number>();
  const startOf = (minute: string): number => {
    const known = minutes.get(minute);
    if (known !== undefined) return known;
    const start = Temporal.PlainDateTime.from(minute).toZonedDateTime(zone).epochMilliseconds;
    if (minutes.size >= KEPT_MINUTES) minutes.clear();
    minutes.set(minute, start);
    return start;
  };
  const fromText = (text: string): number | undefined => {
    const [, date, time, seconds = "0", fraction = ""] = LOCAL.exec(text) ?? [];
    try {
      if (date === undefined) return Temporal.Instant.from(text).epochMilliseconds;
      return startOf(`${date}T${time}`) + Math.round(Number(`${seconds}.${fraction || "0"}`) * 1000);
    } catch {
      return undefined;
    }
  };
  return (value) => {
    const at =
      typeof value === "number"
        ? fromNumber(value)
        : typeof value === "string"
          ? fromText(value.trim())
          : undefined;
    return at !== undefined && at >= 0 && at <= LAST_DATE ? at : undefined;
  };
}

function fromNumber(value: number): number | undefined {
  if (!Number.isFinite(value)) return undefined;
  return Math.round(value < LATEST_SECONDS ? value * 1000 : value);
}
