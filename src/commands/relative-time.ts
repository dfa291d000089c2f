const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `3h ago`, `in 2d`, `now`. */
export function formatTimeUntil(at: number, now: number): string {
  const away = Math.abs(at - now);
  if (away < MINUTE) return "now";
  const length =
    away < HOUR
      ? `${Math.floor(away / MINUTE)}m`
      : away < DAY
        ? `${Math.floor(away / HOUR)}h`
        : `${Math.floor(away / DAY)}d`;
  return at > now ? `in ${length}` : `${length} ago`;
}
