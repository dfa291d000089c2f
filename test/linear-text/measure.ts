import { threadCpuMsOf } from "../support/cpu-time.ts";
import type { Generator } from "./strings.ts";

/** The first size, and the factor between two sizes. A function that is far from linear fails at a small size. */
const FIRST = 2000;
const STEP = 8;
/** A linear function takes 8 times as long at the next size, a quadratic one 64 times: above this factor it is measured precisely. */
const SUSPECT = 14;
/** The shortest time that can be compared. A quadratic function below it needs less than a second for a million characters. */
const FLOOR_MS = 3;
/** A quadratic function that is faster than this at one size stays below the floor at the next, 64 times slower. */
const TOO_FAST_MS = FLOOR_MS / 64;
/** The maximum factor for twice the text. A quadratic function takes four times as long. */
const MOST_GROWTH = 2.5;
/** The garbage collector or the compiler slows down single steps; a function that is not linear is slow at every size. */
const DOUBLINGS = 3;
const REPEATS = 4;
/** A bounded function takes long, so two runs are as good as four of a short one. */
const BOUNDED_REPEATS = 2;
/** Work of other processes in the shared caches can slow down three sizes in a row. A function that is not linear grows every time. */
const CONFIRMATIONS = 3;
/** A bounded function takes as long for any text beyond its bound; preparing the text may add to it. */
const BOUNDED_GROWTH = 1.6;

type Run = (text: string) => unknown;

/** Undefined, or how a function is not linear on such a text. The text grows until the time can be compared. */
export function growthOf(run: Run, make: Generator, largest: number): string | undefined {
  let before = timeOf(run, make(FIRST / STEP));
  for (let size = FIRST; size <= largest; size *= STEP) {
    const once = timeOf(run, make(size));
    const isSuspect = once >= FLOOR_MS && once > SUSPECT * before;
    before = once;
    if (once < TOO_FAST_MS && size * STEP === largest) return undefined;
    const found = isSuspect ? confirmGrowth(run, make, size) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Undefined as soon as one measurement shows linear growth. */
function confirmGrowth(run: Run, make: Generator, size: number): string | undefined {
  let found: string | undefined;
  for (let time = 0; time < CONFIRMATIONS; time += 1) {
    found = growthFrom(run, make, size);
    if (found === undefined) return undefined;
  }
  return found;
}

function growthFrom(run: Run, make: Generator, size: number): string | undefined {
  const times = [size / 2, size].map((length) => leastTime(run, make(length)));
  for (let length = size; isTooMuch(times); ) {
    if (times.length > DOUBLINGS) return growthText(length, times);
    length *= 2;
    times.push(leastTime(run, make(length)));
  }
  return undefined;
}

function isTooMuch(times: readonly number[]): boolean {
  const [half = 0, whole = 0] = times.slice(-2);
  return whole >= FLOOR_MS && whole > MOST_GROWTH * half;
}

function growthText(size: number, times: readonly number[]): string {
  const all = times.map((time) => time.toFixed(1)).join(", ");
  return `up to ${size} characters, each time twice as many, take ${all} ms`;
}

/** Undefined, or how a function reads more of a text than its bound. */
export function readsOn(run: Run, make: Generator, size: number): string | undefined {
  let found: string | undefined;
  for (let time = 0; time < CONFIRMATIONS; time += 1) {
    const [leastHalf, leastWhole] = [
      leastTime(run, make(size / 2), BOUNDED_REPEATS),
      leastTime(run, make(size), BOUNDED_REPEATS),
    ];
    if (leastWhole < FLOOR_MS || leastWhole < BOUNDED_GROWTH * leastHalf) return undefined;
    found = growthText(size, [leastHalf, leastWhole]);
  }
  return found;
}

/** The minimum of several runs: other work of the machine can only add to it. */
function leastTime(run: Run, text: string, repeats: number = REPEATS): number {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < repeats; time += 1) least = Math.min(least, timeOf(run, text));
  return least;
}

/** In processor time: on a busy machine, a run longer than a time slice waits for others, and a shorter one does not. */
function timeOf(run: Run, text: string): number {
  return threadCpuMsOf(() => run(text));
}
