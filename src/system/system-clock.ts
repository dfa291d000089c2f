import { randomFillSync } from "node:crypto";
import type { Clock } from "../ports/clock.ts";

/** Asking the system for chance costs as much for four bytes as for four thousand. */
const pool = new Uint8Array(4096);
let used: number = pool.length;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random(bytes) {
    if (bytes > pool.length) return randomFillSync(new Uint8Array(bytes));
    if (used + bytes > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += bytes;
    return pool.slice(used - bytes, used);
  },
};

let zone: string | undefined;

/** The zone this machine lives in. */
export function systemZone(): string {
  zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone;
}
