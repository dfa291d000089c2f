import { afterEach, describe, expect, it, vi } from "vitest";
import { type Hook, hooks } from "./hooks.ts";

type Warning = Readonly<Record<string, unknown>>;

function createHooks(...all: readonly Hook[]) {
  const warnings: Warning[] = [];
  const nothing = (): void => {};
  const warn = (fields: Warning): void => void warnings.push(fields);
  return { warnings, hooks: hooks(all, { debug: nothing, info: nothing, error: nothing, warn }) };
}

afterEach(() => void vi.useRealTimers());

describe("a hook", () => {
  it.each<[wanted: string, event: "session:end" | "command:new", isCalled: boolean]>([
    ["session:end", "session:end", true],
    ["session:start", "session:end", false],
    ["session:*", "session:end", true],
    ["command:*", "command:new", true],
    ["command:*", "session:end", false],
    ["session", "session:end", false],
    ["sess:*", "session:end", false],
    ["*", "command:new", true],
  ])("that listens to %s, at the event %s: called %s", async (wanted, event, isCalled) => {
    const calls: unknown[] = [];
    const { hooks: all } = createHooks({
      name: "a",
      events: [wanted],
      handle: (...given) => calls.push(given),
    });
    await all.emit(event, { session: "s" });
    expect(calls).toEqual(isCalled ? [[event, { session: "s" }]] : []);
  });

  it("is called once per event, also when several of its patterns match", async () => {
    const handle = vi.fn();
    await createHooks({ name: "a", events: ["*", "session:*", "session:end"], handle }).hooks.emit(
      "session:end",
      {},
    );
    expect(handle).toHaveBeenCalledOnce();
  });

  it("that throws or rejects is reported by its name, and the other hooks run", async () => {
    const handle = vi.fn();
    const { hooks: all, warnings } = createHooks(
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
    expect(warnings).toMatchObject([
      { hook: "throws", event: "session:end", error: { message: "at once" } },
      { hook: "rejects", event: "session:end", error: { message: "later" } },
    ]);
  });

  it("delays its event until it ends, for at most 30 seconds", async () => {
    vi.useFakeTimers();
    const slow = Promise.withResolvers<void>();
    const { hooks: all, warnings } = createHooks(
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
    expect(warnings).toMatchObject([{ hook: "stuck", error: { message: "it took longer than 30000 ms" } }]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
