import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readEventsUntil } from "./read-events-until.ts";

async function* counting(to: number): AsyncGenerator<number> {
  for (let n = 1; n <= to; n += 1) yield n;
}

async function all<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const found: Event[] = [];
  for await (const event of events) found.push(event);
  return found;
}

describe("the events of an agent", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are complete and in order, and leave no timer", async () => {
    expect(await all(readEventsUntil(new AbortController().signal, counting(3)))).toEqual([1, 2, 3]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("end with the agent's own failure", async () => {
    async function* failing(): AsyncGenerator<number> {
      yield 1;
      throw new Error("broken");
    }
    await expect(all(readEventsUntil(new AbortController().signal, failing()))).rejects.toThrow("broken");
  });

  it("include its last events when it is stopped and ends soon", async () => {
    const stopping = new AbortController();
    async function* obeying(): AsyncGenerator<string> {
      yield "first";
      await new Promise((resolve) => stopping.signal.addEventListener("abort", resolve));
      yield "last";
    }
    const found = all(readEventsUntil(stopping.signal, obeying()));
    await vi.advanceTimersByTimeAsync(5000);
    stopping.abort();
    expect(await found).toEqual(["first", "last"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("end when it is stopped and does not end, and its later failure is ignored", async () => {
    const stopping = new AbortController();
    const { promise: stuck, reject: fail } = Promise.withResolvers<never>();
    async function* deaf(): AsyncGenerator<string> {
      yield "first";
      await stuck;
    }
    const found = all(readEventsUntil(stopping.signal, deaf()));
    await vi.advanceTimersByTimeAsync(60_000);
    stopping.abort();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await found).toEqual(["first"]);
    fail(new Error("too late"));
    await vi.advanceTimersByTimeAsync(0);
  });
});
