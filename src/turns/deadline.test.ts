import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deadline } from "./deadline.ts";

describe("a deadline", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("stops the work when its time is over, and says so", () => {
    const { signal, isOver } = deadline(new AbortController().signal, 1000);
    vi.advanceTimersByTime(999);
    expect([signal.aborted, isOver()]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([signal.aborted, isOver()]).toEqual([true, true]);
  });

  it.each(["before it began", "while it ran"])("is not over for work that was stopped %s", (when) => {
    const stopping = new AbortController();
    if (when === "before it began") stopping.abort();
    const { signal, isOver } = deadline(stopping.signal, 1000);
    stopping.abort();
    expect(signal.aborted).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(isOver()).toBe(false);
  });

  it("holds nothing for work that has ended", () => {
    const stopping = new AbortController();
    const listening = vi.spyOn(stopping.signal, "removeEventListener");
    const { signal, forget } = deadline(stopping.signal, 1_800_000);
    expect(vi.getTimerCount()).toBe(1);
    forget();
    expect(vi.getTimerCount()).toBe(0);
    expect(listening).toHaveBeenCalled();
    stopping.abort();
    expect(signal.aborted).toBe(false);
  });

  it("is none where no time was given", () => {
    const { signal } = new AbortController();
    expect(deadline(signal, undefined).signal).toBe(signal);
    expect(vi.getTimerCount()).toBe(0);
  });
});
