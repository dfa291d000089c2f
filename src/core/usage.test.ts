import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addUsage, emptyUsage, type UsageDelta } from "./usage.ts";

const usageOf = (...deltas: readonly UsageDelta[]) => deltas.reduce(addUsage, emptyUsage());

describe("a session's counters", () => {
  it("start at nothing, with the cost unknown", () => {
    expect(emptyUsage()).toEqual({
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      totalTokens: 0,
      lastPromptTokens: 0,
      costStatus: "unknown",
    });
    expect(usageOf({})).toEqual(emptyUsage());
  });

  it("add what each call used", () => {
    expect(
      usageOf(
        { inputTokens: 200, outputTokens: 100 },
        { inputTokens: 100, outputTokens: 50, reasoningTokens: 7 },
      ),
    ).toMatchObject({ inputTokens: 300, outputTokens: 150, reasoningTokens: 7, totalTokens: 450 });
  });

  it("count input, output and both sides of the cache in the total, not the reasoning", () => {
    expect(
      usageOf({
        inputTokens: 1,
        outputTokens: 20,
        cacheReadTokens: 300,
        cacheWriteTokens: 4000,
        reasoningTokens: 50_000,
      }).totalTokens,
    ).toBe(4321);
  });

  it("show the newest prompt's size, which only a given value replaces, zero included", () => {
    const usage = usageOf({ lastPromptTokens: 50_000 });
    expect(addUsage(usage, { inputTokens: 1 }).lastPromptTokens).toBe(50_000);
    expect(addUsage(usage, { lastPromptTokens: 85_000 }).lastPromptTokens).toBe(85_000);
    expect(addUsage(usage, { lastPromptTokens: 0 }).lastPromptTokens).toBe(0);
  });

  it("have no cost before one is given, and then its sum", () => {
    expect(usageOf({ inputTokens: 5 })).not.toHaveProperty("costUsd");
    expect(usageOf({ costUsd: 0 }).costUsd).toBe(0);
    expect(usageOf({ costUsd: 0.5 }, {}, { costUsd: 0.25 }).costUsd).toBe(0.75);
  });

  it("carry the newest cost status; an empty one says nothing", () => {
    expect(usageOf({ costStatus: "estimated" }, { costStatus: "actual" }).costStatus).toBe("actual");
    expect(usageOf({ costStatus: "estimated" }, { costStatus: "" }, {}).costStatus).toBe("estimated");
  });

  it.each(["model", "provider", "baseUrl", "costSource"] as const)(
    "keep the first %s that was named",
    (name) => {
      expect(usageOf({ [name]: "" })).not.toHaveProperty(name);
      expect(usageOf({}, { [name]: "" }, { [name]: "first" }, { [name]: "second" }, {})[name]).toBe("first");
      expect(addUsage({ ...emptyUsage(), [name]: "" }, { [name]: "first" })[name]).toBe("first");
    },
  );

  it("leave what they were given alone", () => {
    const usage = Object.freeze(emptyUsage());
    expect(addUsage(usage, { inputTokens: 1 })).not.toBe(usage);
    expect(usage).toEqual(emptyUsage());
  });

  it("come to the same in whatever order the calls report", () => {
    fc.assert(
      fc.property(fc.array(someDelta, { maxLength: 8 }), (deltas) => {
        expect(usageOf(...deltas.toReversed())).toEqual(usageOf(...deltas));
      }),
    );
  });

  it.each([
    ["inputTokens", "input_tokens"],
    ["outputTokens", "output_tokens"],
    ["cacheReadTokens", "cache_read_tokens"],
    ["cacheWriteTokens", "cache_write_tokens"],
    ["reasoningTokens", "reasoning_tokens"],
    ["lastPromptTokens", "last_prompt_tokens"],
  ] as const)("refuse a %s that no call can have used, by its name", (name, field) => {
    for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      expect(() => usageOf({ [name]: value })).toThrow(
        expect.objectContaining({
          code: "invalid_input",
          message: expect.stringContaining(field),
          details: { field },
        }),
      );
    }
  });

  it("refuse a cost that is negative or no number, by its name", () => {
    for (const costUsd of [-0.01, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => usageOf({ costUsd })).toThrow(
        expect.objectContaining({ code: "invalid_input", details: { field: "cost_usd" } }),
      );
    }
  });
});

const count = fc.nat(10 ** 9);
const someDelta: fc.Arbitrary<UsageDelta> = fc.record(
  {
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    reasoningTokens: count,
  },
  { requiredKeys: [] },
);
