import { expect, it } from "vitest";
import { createSpinGate } from "./spin-gate.ts";

/** The number of waits that are made asleep before the next one awake. */
function countAsleep(gate: ReturnType<typeof createSpinGate>): number {
  let asleep = 0;
  while (!gate.isOpen()) asleep += 1;
  return asleep;
}

it("waits asleep for longer after each wait in vain, and awake again after an answer", () => {
  const gate = createSpinGate();
  expect(countAsleep(gate)).toBe(0);
  const asleep = Array.from({ length: 9 }, () => {
    gate.record(false);
    return countAsleep(gate);
  });
  expect(asleep).toEqual([4, 8, 16, 32, 64, 128, 256, 256, 256]);
  gate.record(true);
  expect(countAsleep(gate)).toBe(0);
});
