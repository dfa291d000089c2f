import { randomFillSync } from "node:crypto";
import type { Clock } from "../ports/clock.ts";

/** A request to the system takes as long for four random bytes as for four thousand. */
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

/** The time zone of this machine. */
export function systemZone(): string {
  zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone;
}
