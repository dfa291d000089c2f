import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createUpdateTracker } from "./update-tracker.ts";

describe("the next offset", () => {
  it("is the first update that is not stored", () => {
    const ledger = createUpdateTracker();
    expect(ledger.getNextOffset()).toBeUndefined();
    for (const id of [10, 11, 12]) ledger.add(id);
    ledger.markStored([10, 12]);
    expect(ledger.getNextOffset()).toBe(11);
    expect(ledger.getNextOffset([11])).toBe(13);
  });

  it("never splits an album, also if two albums overlap", () => {
    const ledger = createUpdateTracker();
    for (const id of [10, 11, 12, 13, 14, 15]) ledger.add(id);
    ledger.join([10, 12]);
    ledger.join([11, 14]);
    ledger.markStored([10, 12, 11, 14]);
    expect(ledger.getNextOffset()).toBe(10); // 13 is not stored, 14 belongs to 11, and 12 to 10
    ledger.markStored([13, 15]);
    expect(ledger.getNextOffset()).toBe(16);
  });

  it("restarts when Telegram restarts its numbers", () => {
    const ledger = createUpdateTracker();
    ledger.add(1000);
    ledger.markStored([1000]);
    ledger.forgetBefore(1001);
    expect(ledger.add(5)).toBe(true);
    ledger.markStored([5]);
    expect(ledger.getNextOffset()).toBe(6);
  });

  it("never passes an unstored update, nor a part of one message", () => {
    const shape = fc.array(fc.record({ group: fc.nat(3), stored: fc.boolean() }), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(shape, (updates) => {
        const ledger = createUpdateTracker();
        const groups = Map.groupBy([...updates.keys()], (at) => updates[at]?.group ?? 0);
        for (const at of updates.keys()) ledger.add(at);
        for (const ids of groups.values()) ledger.join(ids);
        const stored = [...groups.values()].filter(([first = 0]) => updates[first]?.stored);
        for (const ids of stored) ledger.markStored(ids);
        const next = ledger.getNextOffset() ?? 0;
        for (const ids of groups.values()) {
          const forgotten = ids.filter((id) => id < next);
          expect([0, ids.length]).toContain(forgotten.length);
          if (forgotten.length > 0) expect(stored).toContain(ids);
        }
        if (stored.length === groups.size) expect(next).toBe(updates.length);
      }),
    );
  });
});
