import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addUsage,
  emptyUsage,
  isUsed,
  joinDeltas,
  sumByPurpose,
  sumUsage,
  USAGE_PURPOSES,
  type UsageDelta,
} from "./usage.ts";

const sumDeltas = (...deltas: readonly UsageDelta[]) => deltas.reduce(addUsage, emptyUsage());

describe("a session's counters", () => {
  it("start at zero, with an unknown cost", () => {
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
    expect(sumDeltas({})).toEqual(emptyUsage());
  });

  it("add the usage of each request", () => {
    expect(
      sumDeltas(
        { inputTokens: 200, outputTokens: 100 },
        { inputTokens: 100, outputTokens: 50, reasoningTokens: 7 },
      ),
    ).toMatchObject({ inputTokens: 300, outputTokens: 150, reasoningTokens: 7, totalTokens: 450 });
  });

  it("count input, output and both sides of the cache in the total, not the reasoning", () => {
    expect(
      sumDeltas({
        inputTokens: 1,
        outputTokens: 20,
        cacheReadTokens: 300,
        cacheWriteTokens: 4000,
        reasoningTokens: 50_000,
      }).totalTokens,
    ).toBe(4321);
  });

  it("contain the size of the last prompt, which only a given value replaces, also zero", () => {
    const usage = sumDeltas({ lastPromptTokens: 50_000 });
    expect(addUsage(usage, { inputTokens: 1 }).lastPromptTokens).toBe(50_000);
    expect(addUsage(usage, { lastPromptTokens: 85_000 }).lastPromptTokens).toBe(85_000);
    expect(addUsage(usage, { lastPromptTokens: 0 }).lastPromptTokens).toBe(0);
  });

  it("have no cost before the first one, then the sum", () => {
    expect(sumDeltas({ inputTokens: 5 })).not.toHaveProperty("costUsd");
    expect(sumDeltas({ costUsd: 0 }).costUsd).toBe(0);
    expect(sumDeltas({ costUsd: 0.5 }, {}, { costUsd: 0.25 }).costUsd).toBe(0.75);
  });

  const actual = { inputTokens: 1, costUsd: 0.5, costStatus: "actual" };
  const estimated = { inputTokens: 1, costUsd: 0.25, costStatus: "estimated" };
  const uncosted = { inputTokens: 1 };

  it.each([
    ["actual", [actual, actual]],
    ["estimated", [estimated, actual]],
    ["estimated", [actual, estimated, estimated]],
    ["estimated", [{ inputTokens: 1, costUsd: 0.5 }]],
    ["unknown", [uncosted, uncosted]],
    ["partial", [actual, uncosted]],
    ["partial", [uncosted, estimated, actual]],
    ["actual", [{}, actual, { lastPromptTokens: 7 }, { costStatus: "" }]],
    ["unknown", [{}]],
  ])("have the cost status %s, never better than that of a request", (status, deltas) => {
    expect(sumDeltas(...deltas).costStatus).toBe(status);
    expect(sumDeltas(...deltas.toReversed()).costStatus).toBe(status);
  });

  it("keep an imported cost status, until usage is added", () => {
    const stored = sumDeltas({ inputTokens: 1, costUsd: 0.5, costStatus: "final" });
    expect(stored.costStatus).toBe("final");
    expect(addUsage(stored, actual).costStatus).toBe("estimated");
    expect(sumDeltas({ costStatus: "included" }).costStatus).toBe("included");
  });

  it("contain the source of the cost, or that there are several", () => {
    expect(sumDeltas({ costSource: "" })).not.toHaveProperty("costSource");
    expect(sumDeltas({}, { costSource: "provider" }, {}, { costSource: "provider" }).costSource).toBe(
      "provider",
    );
    expect(sumDeltas({ costSource: "provider" }, { costSource: "table" }, {}).costSource).toBe("mixed");
  });

  it.each(["model", "provider", "baseUrl"] as const)("keep the first %s", (name) => {
    expect(sumDeltas({ [name]: "" })).not.toHaveProperty(name);
    expect(sumDeltas({}, { [name]: "" }, { [name]: "first" }, { [name]: "second" }, {})[name]).toBe("first");
    expect(addUsage({ ...emptyUsage(), [name]: "" }, { [name]: "first" })[name]).toBe("first");
  });

  it("do not change their input", () => {
    const usage = Object.freeze(emptyUsage());
    expect(addUsage(usage, { inputTokens: 1 })).not.toBe(usage);
    expect(usage).toEqual(emptyUsage());
  });

  it("are the same in any order of requests", () => {
    fc.assert(
      fc.property(fc.array(someDelta, { maxLength: 8 }), (deltas) => {
        expect(sumDeltas(...deltas.toReversed())).toEqual(sumDeltas(...deltas));
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
  ] as const)("refuse an invalid %s, by its name", (name, field) => {
    for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      expect(() => sumDeltas({ [name]: value })).toThrow(
        expect.objectContaining({
          code: "invalid_input",
          message: expect.stringContaining(field),
          details: { field },
        }),
      );
    }
  });

  it("refuse a negative or invalid cost, by its name", () => {
    for (const costUsd of [-0.01, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => sumDeltas({ costUsd })).toThrow(
        expect.objectContaining({ code: "invalid_input", details: { field: "cost_usd" } }),
      );
    }
  });
});

describe("sums of usage", () => {
  it("are the same for any grouping of requests, to the token", () => {
    const parts = fc.array(fc.array(costedDelta, { maxLength: 4 }), { maxLength: 5 });
    fc.assert(
      fc.property(parts, (groups) => {
        const whole = sumUsage(groups.flat());
        const bySums = sumUsage(groups.map(sumUsage));
        const byJoining = groups.flat().reduce<UsageDelta | undefined>(joinDeltas, undefined);
        for (const other of [bySums, addUsage(emptyUsage(), byJoining ?? {})]) {
          const { costUsd, lastPromptTokens: _, ...counts } = other;
          expect({ ...whole, ...counts }).toEqual(whole);
          expect(costUsd ?? -1).toBeCloseTo(whole.costUsd ?? -1, 9);
        }
      }),
    );
  });

  it("are actual only if all costs are, and unknown only if no request has a cost", () => {
    fc.assert(
      fc.property(fc.array(costedDelta, { minLength: 1, maxLength: 6 }), (calls) => {
        const { costStatus, costUsd } = sumUsage(calls);
        const used = calls
          .filter(isUsed)
          .filter(({ costUsd, inputTokens }) => costUsd !== undefined || inputTokens);
        const known = used.filter((call) => call.costUsd !== undefined);
        expect(costUsd !== undefined).toBe(known.length > 0);
        if (known.length === 0) expect(costStatus).toBe("unknown");
        else if (known.length < used.length) expect(costStatus).toBe("partial");
        else
          expect(costStatus).toBe(
            known.every((call) => call.costStatus === "actual") ? "actual" : "estimated",
          );
      }),
    );
  });

  it("by purpose add up to the total, and omit purposes without usage", () => {
    const entry = fc.record({
      purpose: fc.constantFrom(...USAGE_PURPOSES),
      usage: costedDelta.map((delta) => addUsage(emptyUsage(), delta)),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 8 }), (entries) => {
        const found = sumByPurpose(entries);
        const purposes = new Set(entries.map(({ purpose }) => purpose));
        expect(found.map(({ purpose }) => purpose)).toEqual(
          USAGE_PURPOSES.filter((one) => purposes.has(one)),
        );
        const { costUsd: _, ...whole } = sumUsage(entries.map(({ usage }) => usage));
        expect(sumUsage(found.map(({ usage }) => usage))).toMatchObject(whole);
      }),
    );
  });

  it("omit values that belong to one request only", () => {
    const sum = sumUsage([{ inputTokens: 1, lastPromptTokens: 9, model: "m", provider: "p", baseUrl: "u" }]);
    expect(sum).toEqual({ ...emptyUsage(), inputTokens: 1, totalTokens: 1 });
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

/** Usage as a provider reports it: a cost with its status, or no cost. */
const costedDelta: fc.Arbitrary<UsageDelta> = fc
  .record({ inputTokens: fc.nat(10 ** 6), outputTokens: fc.constant(0) })
  .chain((counts) =>
    fc.oneof(
      fc.constant(counts),
      fc.record({
        inputTokens: fc.constant(counts.inputTokens),
        costUsd: fc.nat(1000).map((mills) => mills / 1000),
        costStatus: fc.constantFrom("actual", "estimated"),
        costSource: fc.constantFrom("provider", "table"),
      }),
    ),
  );
