import { constants } from "node:os";

/** `SIGTERM` for 15. */
export function getSignalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}
