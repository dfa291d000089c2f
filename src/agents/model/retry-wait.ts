type HeaderFields = Readonly<Record<string, string>>;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A provider that names a longer time uses another unit than expected. */
const MAX_WAIT_MS = 31 * 86_400_000;

/** How long the provider asks to wait before the next request, from its headers or its message. */
export function parseRetryWait(
  headers: HeaderFields,
  body: string,
  now: number = Date.now(),
): number | undefined {
  const found =
    parseNumber(headers["retry-after-ms"], 1) ??
    parseNumber(headers["retry-after"], 1000) ??
    parseDate(headers["retry-after"], now) ??
    parseDuration(body) ??
    parseReset(
      headers["x-ratelimit-reset"] ?? /"x-ratelimit-reset":\s{0,9}"?(\d{9,13})/i.exec(body)?.[1],
      now,
    );
  return found === undefined || !(found >= 0) || found > MAX_WAIT_MS ? undefined : found;
}

/** "20 s", "3 min", "2 h", "4 days": rounded up, so that a retry is never too early. */
export function formatWait(ms: number): string {
  if (ms <= 90_000) return `${Math.max(1, Math.ceil(ms / 1000))} s`;
  if (ms <= 90 * 60_000) return `${Math.ceil(ms / 60_000)} min`;
  if (ms <= 36 * 3_600_000) return `${Math.ceil(ms / 3_600_000)} h`;
  return `${Math.ceil(ms / 86_400_000)} days`;
}

function parseNumber(text: string | undefined, unitMs: number): number | undefined {
  return text !== undefined && /^\s?\d{1,12}(\.\d{1,9})?\s?$/.test(text) ? Number(text) * unitMs : undefined;
}

function parseDate(text: string | undefined, now: number): number | undefined {
  const at = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** OpenRouter sends the time of the reset in milliseconds, others in seconds. */
function parseReset(text: string | undefined, now: number): number | undefined {
  if (text === undefined || !/^\d{9,13}$/.test(text)) return undefined;
  const at = Number(text) * (text.length > 11 ? 1 : 1000);
  return at > now ? at - now : undefined;
}

const AMOUNT = /(\d{1,9}(?:\.\d{1,9})?)\s?(ms|milli|s|m|h|d)/gi;
const DURATION =
  /(?:again|retry|wait)\s(?:in|after|for)?\s?((?:\d{1,9}(?:\.\d{1,9})?\s?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)[\s,]?){1,4})/i;
const FIELD = /"retry_?(?:delay|after)(?:_seconds)?":\s{0,9}"?(\d{1,9}(?:\.\d{1,9})?)s?"?/i;

/** "Please try again in 1m30.5s", or a field such as `"retryDelay": "23s"`. */
function parseDuration(body: string): number | undefined {
  const written = DURATION.exec(body)?.[1];
  if (written === undefined) return parseNumber(FIELD.exec(body)?.[1], 1000);
  let sum = 0;
  for (const [, amount = "0", unit = "s"] of written.matchAll(AMOUNT)) {
    const known = unit.toLowerCase() === "milli" ? "ms" : unit.toLowerCase();
    sum += Number(amount) * (UNITS[known] ?? 1000);
  }
  return sum;
}
