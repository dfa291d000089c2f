import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startDeadline } from "./deadline.ts";

describe("a deadline", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("stops the work when its time is over, and reports that it expired", () => {
    const { signal, isExpired } = startDeadline(new AbortController().signal, 1000);
    vi.advanceTimersByTime(999);
    expect([signal.aborted, isExpired()]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([signal.aborted, isExpired()]).toEqual([true, true]);
  });

  it.each(["before it began", "while it ran"])("does not expire for work that was stopped %s", (when) => {
    const stopping = new AbortController();
    if (when === "before it began") stopping.abort();
    const { signal, isExpired } = startDeadline(stopping.signal, 1000);
    stopping.abort();
    expect(signal.aborted).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(isExpired()).toBe(false);
  });

  it("keeps no timer and no listener for work that has ended", () => {
    const stopping = new AbortController();
    const listening = vi.spyOn(stopping.signal, "removeEventListener");
    const { signal, cancel } = startDeadline(stopping.signal, 1_800_000);
    expect(vi.getTimerCount()).toBe(1);
    cancel();
    expect(vi.getTimerCount()).toBe(0);
    expect(listening).toHaveBeenCalled();
    stopping.abort();
    expect(signal.aborted).toBe(false);
  });

  it("is absent without a time limit", () => {
    const { signal } = new AbortController();
    expect(startDeadline(signal, undefined).signal).toBe(signal);
    expect(vi.getTimerCount()).toBe(0);
  });
});
