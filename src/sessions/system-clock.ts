import { randomBytes } from "node:crypto";
import type { Clock } from "../ports/clock.ts";

export const systemClock: Clock = {
  now: () => Date.now(),
  random: (bytes) => randomBytes(bytes),
};

/** The zone this machine lives in. */
export function systemZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
