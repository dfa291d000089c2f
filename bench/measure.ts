/** Ratios inside one run: variants take turns, round by round, and a figure is the median over the rounds. */
export interface Timed {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const QUIET_MS = 500;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

/** Runs `step` `count` times one after the other. */
export async function oneByOne(count: number, step: (index: number) => unknown): Promise<Timed> {
  const times: number[] = [];
  const start = performance.now();
  for (let index = 0; index < count; index++) {
    const before = performance.now();
    const pending = step(index);
    if (pending instanceof Promise) await pending;
    times.push(performance.now() - before);
  }
  return timed(times, performance.now() - start);
}

/** Runs `step` `count` times in all, `lanes` at once. */
export async function atOnce(
  lanes: number,
  count: number,
  step: (index: number, lane: number) => Promise<unknown>,
): Promise<Timed> {
  const times: number[] = [];
  let next = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (next < count) {
        const before = performance.now();
        await step(next++, lane);
        times.push(performance.now() - before);
      }
    }),
  );
  return timed(times, performance.now() - start);
}

function timed(times: readonly number[], total: number): Timed {
  return { perSecond: (times.length / total) * 1000, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

/** The variants in turn, `rounds` times; each round's results side by side. */
export async function rounds<Name extends string, Result = Timed>(
  count: number,
  variants: Readonly<Record<Name, () => Promise<Result>>>,
): Promise<Record<Name, readonly Result[]>> {
  const names = Object.keys(variants) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Record<Name, Result[]>;
  // The first round only warms up: it pays for compiling what the others run.
  for (let round = -1; round < count; round++) {
    for (const name of names) {
      const timed = await variants[name]();
      if (round >= 0) results[name].push(timed);
      // What a variant does in quiet moments, such as indexing, must not fall into another's time.
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    }
  }
  return results;
}

/** The median over the rounds of `a`'s speed over `b`'s. */
export function ratio(a: readonly Timed[], b: readonly Timed[]): number {
  return median(a.map((one, round) => one.perSecond / (b[round]?.perSecond ?? Number.NaN)));
}

export function typical(results: readonly Timed[]): Timed {
  return {
    perSecond: median(results.map((one) => one.perSecond)),
    p50: median(results.map((one) => one.p50)),
    p99: median(results.map((one) => one.p99)),
  };
}
