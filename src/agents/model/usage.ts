import type { LanguageModelUsage } from "ai";
import { findPrice, PRICES_AS_OF, type PricedTokens, priceRequest } from "../../core/prices.ts";
import type { UsageDelta } from "../../core/usage.ts";
import type { ModelChoice } from "./provider.ts";

/** The tokens as Postrider counts them: tokens from the cache are not input again. */
export function toUsageDelta(
  usage: LanguageModelUsage,
  choice: ModelChoice,
  at: number = Date.now(),
): UsageDelta {
  const { cacheReadTokens = 0, cacheWriteTokens = 0, noCacheTokens } = usage.inputTokenDetails;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const counts = {
    inputTokens: noCacheTokens ?? Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
  };
  return {
    ...counts,
    reasoningTokens: usage.outputTokenDetails.reasoningTokens ?? 0,
    lastPromptTokens: inputTokens,
    model: choice.model,
    provider: choice.provider,
    ...(choice.baseUrl !== undefined && { baseUrl: choice.baseUrl }),
    ...computeCost(usage, choice, counts, at),
  };
}

/** The provider's own cost, or else one from the price table; no other function computes a cost. */
function computeCost(
  usage: LanguageModelUsage,
  { provider, model }: ModelChoice,
  counts: PricedTokens,
  at: number,
): Pick<UsageDelta, "costUsd" | "costStatus" | "costSource"> {
  const reported = (usage.raw as { cost?: unknown } | undefined)?.cost;
  if (typeof reported === "number" && Number.isFinite(reported) && reported >= 0)
    return { costUsd: reported, costStatus: "actual", costSource: "provider" };
  const price = findPrice(provider, model, at);
  if (price === undefined) return {};
  const costSource = `price table ${PRICES_AS_OF}`;
  return { costUsd: priceRequest(price, counts), costStatus: "estimated", costSource };
}
