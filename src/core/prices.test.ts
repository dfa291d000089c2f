import { describe, expect, it } from "vitest";
import { findPrice, PRICES_AS_OF, priceRequest } from "./prices.ts";

const now = Date.parse(PRICES_AS_OF);
const million = 1_000_000;

describe("the price table", () => {
  it.each([
    ["anthropic", "claude-sonnet-5-5", [2, 10, 0.1, 2.5]],
    ["anthropic", "claude-sonnet-4-5-20250929", [3, 15, 0.3, 3.75]],
    ["anthropic", "claude-opus-4-1-20250805", [15, 75, 1.5, 18.75]],
    ["anthropic", "claude-opus-4-20250514", [15, 75, 1.5, 18.75]],
    ["anthropic", "claude-opus-4-8", [5, 25, 0.5, 6.25]],
    ["anthropic", "claude-3-5-haiku-latest", [0.8, 4, 0.08, 1]],
    ["openai", "gpt-6.1-sol", [2, 10, 0.1, 2.5]],
    ["openai", "gpt-5-mini-2025-08-07", [0.25, 2, 0.025, 0.25]],
    ["openai", "gpt-4o-2024-08-06", [2.5, 10, 1.25, 2.5]],
    ["openai", "GPT-4.1", [2, 8, 0.5, 2]],
  ] as const)("has the price of %s for %s", (provider, model, expected) => {
    const { input, output, cacheRead, cacheWrite } = findPrice(provider, model, now) ?? {};
    const prices = [input, output, cacheRead, cacheWrite].map((price) => Number(price?.toFixed(6)));
    expect(prices).toEqual(expected);
  });

  it.each([
    ["anthropic", "claude-haiku-99"],
    ["anthropic", "gpt-4o"],
    ["openai", "gpt-4o-audio-preview"],
    ["openai", "o3-pro"],
    ["openai", "ft:gpt-4o:acme"],
    ["openrouter", "claude-sonnet-5-5"],
    ["compatible", "gpt-4o"],
    ["openai", ""],
  ])("has no price of %s for %s", (provider, model) => {
    expect(findPrice(provider, model, now)).toBeUndefined();
  });

  it("has the price of the day of the request", () => {
    expect(findPrice("openai", "o3", Date.parse("2025-06-09"))?.input).toBe(10);
    expect(findPrice("openai", "o3", Date.parse("2025-06-10"))?.input).toBe(2);
    expect(findPrice("anthropic", "claude-sonnet-5-5", Date.parse("2026-10-06"))?.cacheRead).toBeCloseTo(0.2);
    expect(findPrice("anthropic", "claude-sonnet-5-5", Date.parse("2026-10-07"))?.cacheRead).toBeCloseTo(0.1);
  });
});

describe("the price of a request", () => {
  const price = { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 };

  it("counts each kind of token once, with its own price", () => {
    expect(priceRequest(price, {})).toBe(0);
    expect(priceRequest(price, { inputTokens: million })).toBe(2);
    expect(priceRequest(price, { outputTokens: million })).toBe(10);
    expect(priceRequest(price, { cacheReadTokens: million })).toBe(0.1);
    expect(priceRequest(price, { cacheWriteTokens: million })).toBe(2.5);
    const all = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 50_000, cacheWriteTokens: 10 };
    expect(priceRequest(price, all)).toBeCloseTo(0.002 + 0.001 + 0.005 + 0.000025, 12);
  });

  it("is higher for a whole request with a long prompt, which includes cached tokens", () => {
    const long = { ...price, long: { above: 1000, input: 2, output: 1.5 } };
    const at = { inputTokens: 400, cacheReadTokens: 500, cacheWriteTokens: 100, outputTokens: 5000 };
    expect(priceRequest(long, at)).toBe(priceRequest(price, at));
    const above = { ...at, cacheReadTokens: 501 };
    const { outputTokens: _, ...prompt } = above;
    expect(priceRequest(long, above)).toBeCloseTo(
      2 * priceRequest(price, prompt) + 1.5 * priceRequest(price, { outputTokens: 5000 }),
      12,
    );
  });
});
