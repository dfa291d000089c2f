import { expect, it } from "vitest";
import { type BackOff, computeBackOff, computeMaxBackOff } from "./back-off.ts";

const PLAIN: BackOff = { firstMs: 1000, maxMs: 60_000 };

it("doubles the wait with each failure up to the maximum", () => {
  const waits = [1, 2, 3, 6, 7, 1000].map((failures) => computeBackOff(PLAIN, failures));
  expect(waits).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000]);
});

it("waits the first step when nothing has failed yet", () => {
  expect(computeBackOff(PLAIN, 0)).toBe(1000);
});

it("spreads the waits between the least and the greatest share of the step", () => {
  const spread: BackOff = { ...PLAIN, spread: [0.75, 1.25] };
  expect(computeBackOff(spread, 2, 0)).toBe(1500);
  expect(computeBackOff(spread, 2, 0.5)).toBe(2000);
  expect(computeBackOff(spread, 2, 255 / 256)).toBeLessThan(2500);
  expect(computeMaxBackOff(spread, 2)).toBe(2500);
});
