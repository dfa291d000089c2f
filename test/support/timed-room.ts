import { afterEach, beforeEach, vi } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import type { Store } from "../../src/ports/store.ts";
import { type FakeClock, fakeClock, type Home, openHome, START } from "./test-home.ts";
import { wrapStore } from "./wrap-store.ts";

/** The timers and the clock of a test. Only the test moves them, together. */
export interface Time {
  /** Lets time pass in steps. Each timer fires when it is due, and its work ends before the next step. */
  pass(ms: number, stepMs?: number): Promise<void>;
  /** Moves the clock without firing timers, like a suspended machine. */
  jump(ms: number): void;
  /** Resolves when no call of the store is in progress and nothing follows from the last one. */
  settle(): Promise<void>;
}

/** For all tests of the file that calls it. `setImmediate` stays real: the store needs it. */
export function useFakeTime(): void {
  const toFake = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] as const;
  beforeEach(() => void vi.useFakeTimers({ toFake: [...toFake], now: START }));
  afterEach(() => void vi.useRealTimers());
}

export async function timedHome(): Promise<{ readonly home: Home; readonly time: Time }> {
  const started = Date.now();
  const passed: Pick<Clock, "now" | "monotonic"> = { now: Date.now, monotonic: () => Date.now() - started };
  const clock: FakeClock = { ...fakeClock(), ...passed };
  const opened = await openHome({}, clock);
  const { store, calls } = counted(opened.store);
  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet = calls() === 0 ? quiet + 1 : 0)
      await new Promise(setImmediate);
  }
  return {
    home: { ...opened, store },
    time: {
      settle,
      jump: (ms) => void vi.setSystemTime(Date.now() + ms),
      async pass(ms, stepMs = 1000) {
        await settle();
        for (const until = Date.now() + ms; Date.now() < until; await settle())
          await vi.advanceTimersByTimeAsync(Math.min(stepMs, until - Date.now()));
      },
    },
  };
}

/** More turns of the event loop than a chain of promises between two calls of the store. */
const QUIET_TURNS = 4;

/** The store, and the number of its calls in progress. */
function counted(store: Store): { readonly store: Store; calls(): number } {
  let open = 0;
  const counting = wrapStore(store, ({ run }) => {
    open += 1;
    return run().finally(() => {
      open -= 1;
    });
  });
  return { store: counting, calls: () => open };
}
