import { expect, it } from "vitest";
import { createSpinGate } from "./spin-gate.ts";

it("waits awake while most of the last waits were short", () => {
  const gate = createSpinGate(0.3);
  const recordAll = (...waits: readonly number[]): boolean[] =>
    waits.map((waited) => {
      gate.record(waited);
      return gate.isOpen();
    });
  expect(gate.isOpen()).toBe(true);
  expect(recordAll(0.1, 50, 0.1, 0.1)).toEqual([true, true, true, true]);
  expect(recordAll(50, 50, 50, 50)).toEqual([true, false, false, false]);
  expect(recordAll(0.1, 0.1, 0.1, 0.1)).toEqual([false, true, true, true]);
});
