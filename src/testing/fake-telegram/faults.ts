import type { Faults, NextFault } from "./types.ts";

/** Decides which calls fail. The same seed and the same order of calls give the same faults. */
export interface FaultInjector {
  set(faults: Faults): void;
  next(method: string, fault: NextFault): void;
  /** The fault and the delay of this call. */
  takeFault(method: string): { readonly fault?: NextFault; readonly delayMs: number };
  isUpdateDuplicated(): boolean;
}

const SEND_METHODS = /^(?:send(?!ChatAction)|editMessage)/;

export function createFaultInjector(): FaultInjector {
  let faults: Faults = {};
  let random = createRandom(1);
  const ordered = new Map<string, NextFault[]>();
  return {
    set(given) {
      faults = given;
      random = createRandom(given.seed ?? 1);
    },
    next(method, fault) {
      ordered.set(method, [...(ordered.get(method) ?? []), fault]);
    },
    takeFault(method) {
      const delayMs = faults.delayMs === undefined ? 0 : Math.floor(random() * faults.delayMs);
      const planned = ordered.get(method)?.shift();
      if (planned !== undefined) return { fault: planned, delayMs };
      if (SEND_METHODS.test(method) && random() < (faults.dropSends ?? 0)) {
        return { fault: { kind: "dropAfter" }, delayMs };
      }
      for (const kind of ["cut", "badGateway", "dropAfter"] as const) {
        if (random() < (faults[kind] ?? 0)) return { fault: { kind }, delayMs };
      }
      return { delayMs };
    },
    isUpdateDuplicated: () => random() < (faults.duplicateUpdates ?? 0),
  };
}

/** Pseudo-random numbers from 0 to 1, the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    // xorshift32
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
