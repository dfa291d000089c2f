import { afterEach, describe, expect, it, vi } from "vitest";
import { type Hook, hooks } from "./hooks.ts";

type Complaint = Readonly<Record<string, unknown>>;

function listening(...all: readonly Hook[]) {
  const complaints: Complaint[] = [];
  const nothing = (): void => {};
  const warn = (fields: Complaint): void => void complaints.push(fields);
  return { complaints, hooks: hooks(all, { debug: nothing, info: nothing, error: nothing, warn }) };
}

afterEach(() => void vi.useRealTimers());

describe("a hook", () => {
  it.each<[wanted: string, event: "session:end" | "command:new", isTold: boolean]>([
    ["session:end", "session:end", true],
    ["session:start", "session:end", false],
    ["session:*", "session:end", true],
    ["command:*", "command:new", true],
    ["command:*", "session:end", false],
    ["session", "session:end", false],
    ["sess:*", "session:end", false],
    ["*", "command:new", true],
  ])("that listens to %s and meets %s: told %s", async (wanted, event, isTold) => {
    const told: unknown[] = [];
    const { hooks: all } = listening({ name: "a", events: [wanted], handle: (...given) => told.push(given) });
    await all.emit(event, { session: "s" });
    expect(told).toEqual(isTold ? [[event, { session: "s" }]] : []);
  });

  it("is told once, also when it listens twice", async () => {
    const handle = vi.fn();
    await listening({ name: "a", events: ["*", "session:*", "session:end"], handle }).hooks.emit(
      "session:end",
      {},
    );
    expect(handle).toHaveBeenCalledOnce();
  });

  it("that fails, at once or later, is told of by its name and keeps nobody else from hearing", async () => {
    const handle = vi.fn();
    const { hooks: all, complaints } = listening(
      {
        name: "throws",
        events: ["*"],
        handle: () => {
          throw new Error("at once");
        },
      },
      { name: "rejects", events: ["*"], handle: () => Promise.reject(new Error("later")) },
      { name: "listens", events: ["*"], handle },
    );
    await all.emit("session:end", {});
    expect(handle).toHaveBeenCalledOnce();
    expect(complaints).toMatchObject([
      { hook: "throws", event: "session:end", error: { message: "at once" } },
      { hook: "rejects", event: "session:end", error: { message: "later" } },
    ]);
  });

  it("is waited for, but not for ever", async () => {
    vi.useFakeTimers();
    const slow = Promise.withResolvers<void>();
    const { hooks: all, complaints } = listening(
      { name: "slow", events: ["*"], handle: () => slow.promise },
      { name: "stuck", events: ["*"], handle: () => new Promise(() => {}) },
    );
    let isDone = false;
    const done = all.emit("session:flush", {}).then(() => {
      isDone = true;
    });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(isDone).toBe(false);
    slow.resolve();
    await vi.advanceTimersByTimeAsync(1000);
    await done;
    expect(complaints).toMatchObject([{ hook: "stuck", error: { message: "it took longer than 30000 ms" } }]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
