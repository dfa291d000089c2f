import type { CopyClock } from "../../src/apps/daily-copies.ts";

/** A clock that the test moves. It waits at each step until the called function has set the next timer. */
export function fakeCopyClock(start: number): CopyClock & { pass(ms: number): Promise<void> } {
  let now = start;
  let alarm: { at: number; run(): void } | undefined;
  let isSet = (): void => {};
  return {
    now: () => now,
    after(ms, run) {
      const mine = { at: now + ms, run };
      alarm = mine;
      isSet();
      return () => {
        if (alarm === mine) alarm = undefined;
      };
    },
    async pass(ms) {
      const until = now + ms;
      while (alarm !== undefined && alarm.at <= until) {
        const { at, run } = alarm;
        alarm = undefined;
        now = Math.max(now, at);
        const set = new Promise<void>((resolve) => {
          isSet = resolve;
        });
        run();
        await set;
      }
      now = until;
    },
  };
}
