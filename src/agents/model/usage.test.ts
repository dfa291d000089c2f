import type { LanguageModelUsage } from "ai";
import { describe, expect, it } from "vitest";
import { PRICES_AS_OF } from "../../core/prices.ts";
import { toUsageDelta } from "./usage.ts";

const at = Date.parse(PRICES_AS_OF);

function buildUsage(raw: Record<string, unknown> = {}): LanguageModelUsage {
  return {
    inputTokens: 1000,
    inputTokenDetails: { noCacheTokens: 300, cacheReadTokens: 600, cacheWriteTokens: 100 },
    outputTokens: 50,
    outputTokenDetails: { textTokens: 20, reasoningTokens: 30 },
    totalTokens: 1050,
    raw: raw as NonNullable<LanguageModelUsage["raw"]>,
  };
}

describe("the usage of a request", () => {
  it("has the cost that the provider reports, not that of the price table", () => {
    const usage = toUsageDelta(buildUsage({ cost: 0.25 }), { provider: "openai", model: "gpt-5" }, at);
    expect(usage).toMatchObject({ costUsd: 0.25, costStatus: "actual", costSource: "provider" });
  });

  it("is estimated from the price table, with reasoning as part of the output and cached input cheaper", () => {
    const usage = toUsageDelta(buildUsage(), { provider: "anthropic", model: "claude-sonnet-4-5" }, at);
    expect(usage).toMatchObject({
      inputTokens: 300,
      cacheReadTokens: 600,
      cacheWriteTokens: 100,
      outputTokens: 50,
      reasoningTokens: 30,
      lastPromptTokens: 1000,
      costStatus: "estimated",
      costSource: `price table ${PRICES_AS_OF}`,
    });
    const expected = (300 * 3 + 600 * 0.3 + 100 * 3.75 + 50 * 15) / 1_000_000;
    expect(usage.costUsd).toBeCloseTo(expected, 12);
  });

  it.each([
    { provider: "compatible", model: "gpt-5" },
    { provider: "openrouter", model: "anthropic/claude-sonnet-4.5" },
    { provider: "anthropic", model: "claude-of-next-year" },
  ] as const)("has no cost where neither knows one: $provider $model", (choice) => {
    const usage = toUsageDelta(buildUsage({ cost: "much" }), choice, at);
    expect(usage).not.toHaveProperty("costUsd");
    expect(usage).not.toHaveProperty("costStatus");
  });
});
