import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { updateLedger } from "./ledger.ts";

describe("what Telegram may forget", () => {
  it("is everything before the first that is not stored", () => {
    const ledger = updateLedger();
    expect(ledger.next()).toBeUndefined();
    for (const id of [10, 11, 12]) ledger.take(id);
    ledger.store([10, 12]);
    expect(ledger.next()).toBe(11);
    expect(ledger.next([11])).toBe(13);
  });

  it("never ends within an album, also where two albums reach into each other", () => {
    const ledger = updateLedger();
    for (const id of [10, 11, 12, 13, 14, 15]) ledger.take(id);
    ledger.join([10, 12]);
    ledger.join([11, 14]);
    ledger.store([10, 12, 11, 14]);
    expect(ledger.next()).toBe(10); // 13 is not stored, 14 belongs to 11, and 12 to 10
    ledger.store([13, 15]);
    expect(ledger.next()).toBe(16);
  });

  it("begins anew when Telegram numbers anew", () => {
    const ledger = updateLedger();
    ledger.take(1000);
    ledger.store([1000]);
    ledger.forgetBefore(1001);
    expect(ledger.take(5)).toBe(true);
    ledger.store([5]);
    expect(ledger.next()).toBe(6);
  });

  it("is never something that is not stored, nor a part of what is one message", () => {
    const shape = fc.array(fc.record({ group: fc.nat(3), stored: fc.boolean() }), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(shape, (updates) => {
        const ledger = updateLedger();
        const groups = Map.groupBy([...updates.keys()], (at) => updates[at]?.group ?? 0);
        for (const at of updates.keys()) ledger.take(at);
        for (const ids of groups.values()) ledger.join(ids);
        const stored = [...groups.values()].filter(([first = 0]) => updates[first]?.stored);
        for (const ids of stored) ledger.store(ids);
        const next = ledger.next() ?? 0;
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
