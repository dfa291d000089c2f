import type { Scene, StoreRule } from "./scene.ts";

/** Each race is run often, in different orders. */
export const ROUNDS = 25;
export const SEED = 20_260_315;

type RoundRule = (
  promise: string,
  proof: (one: Scene, two: Scene, race: Race, round: number) => Promise<void>,
) => void;

/** Rules about two stores on the same data, proved in each round. The runners `r1` and `r2` are alive. */
export function createRoundRule(rule: StoreRule): RoundRule {
  return (promise, proof) =>
    rule(promise, async (one) => {
      const two = await one.openSecond();
      for (const id of ["r1", "r2"]) await one.beat(id);
      const race = createRace(SEED);
      for (let round = 0; round < ROUNDS; round += 1) await proof(one, two, race, round);
    });
}

/** Starts calls at once, in a random but reproducible order. */
export interface Race {
  /** Waits for all of them. The results are in the order of the arguments. */
  run<Results extends readonly unknown[]>(
    ...calls: {
      readonly [Index in keyof Results]: () => Promise<Results[Index]>;
    }
  ): Promise<Results>;
  /** 0 ≤ x < `below`. */
  pick(below: number): number;
}

export function createRace(seed: number): Race {
  const next = createRandom(seed);
  const pick = (below: number): number => Math.floor(next() * below);
  return {
    async run(...calls) {
      const results: unknown[] = [];
      const order = calls.map((_, index) => ({ index, at: next(), ticks: pick(3) }));
      const started = order
        .toSorted((a, b) => a.at - b.at)
        .map(async ({ index, ticks }) => {
          // Calls of one tick may share a commit, those of different ticks may not.
          for (let tick = 0; tick < ticks; tick += 1) await new Promise(setImmediate);
          results[index] = await calls[index]?.();
        });
      await Promise.all(started);
      return results as never;
    },
    pick,
  };
}

/** mulberry32: 0 ≤ x < 1. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
