import type { LanguageModelUsage } from "ai";
import type { UsageDelta } from "../../core/usage.ts";
import type { ModelChoice } from "./provider.ts";

/** Tokens as our counters have them: what came from the cache is not input again. */
export function usageOf(usage: LanguageModelUsage, choice: ModelChoice): UsageDelta {
  const { cacheReadTokens = 0, cacheWriteTokens = 0, noCacheTokens } = usage.inputTokenDetails;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const cost = (usage.raw as { cost?: unknown } | undefined)?.cost;
  return {
    inputTokens: noCacheTokens ?? Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: usage.outputTokenDetails.reasoningTokens ?? 0,
    lastPromptTokens: inputTokens,
    model: choice.model,
    provider: choice.provider,
    ...(choice.baseUrl !== undefined && { baseUrl: choice.baseUrl }),
    ...(typeof cost === "number" && { costUsd: cost, costStatus: "actual", costSource: "provider" }),
  };
}
