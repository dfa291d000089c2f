import { PostriderError } from "./errors.ts";

/** What one model call reports. Numbers are deltas except `lastPromptTokens`, which replaces. */
export interface UsageDelta {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  readonly lastPromptTokens?: number;
  readonly costUsd?: number;
  readonly costStatus?: string;
  readonly costSource?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly baseUrl?: string;
}

/** The counters of a session. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  /** input + output + cache read + cache write. */
  readonly totalTokens: number;
  readonly lastPromptTokens: number;
  readonly costUsd?: number;
  readonly costStatus: string;
  readonly costSource?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly baseUrl?: string;
}

export function emptyUsage(): Usage {
  return {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    totalTokens: 0,
    lastPromptTokens: 0,
    costStatus: "unknown",
  };
}

/**
 * The counters after one more model call. Tokens and cost add up; the newest status counts; model, provider,
 * base URL and cost source are those of the first call that named them. A total that a caller kept itself is
 * not a delta: adding it every turn would count the same tokens again and again.
 */
export function addUsage(usage: Usage, delta: UsageDelta): Usage {
  const inputTokens = usage.inputTokens + tokens(delta.inputTokens, "input_tokens");
  const outputTokens = usage.outputTokens + tokens(delta.outputTokens, "output_tokens");
  const cacheReadTokens = usage.cacheReadTokens + tokens(delta.cacheReadTokens, "cache_read_tokens");
  const cacheWriteTokens = usage.cacheWriteTokens + tokens(delta.cacheWriteTokens, "cache_write_tokens");
  const reasoningTokens = usage.reasoningTokens + tokens(delta.reasoningTokens, "reasoning_tokens");
  const lastPromptTokens = tokens(delta.lastPromptTokens ?? usage.lastPromptTokens, "last_prompt_tokens");
  const costUsd = added(usage.costUsd, delta.costUsd);
  const costSource = usage.costSource || delta.costSource;
  const model = usage.model || delta.model;
  const provider = usage.provider || delta.provider;
  const baseUrl = usage.baseUrl || delta.baseUrl;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens,
    totalTokens: inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens,
    lastPromptTokens,
    ...(costUsd !== undefined && { costUsd }),
    costStatus: delta.costStatus || usage.costStatus,
    ...(costSource && { costSource }),
    ...(model && { model }),
    ...(provider && { provider }),
    ...(baseUrl && { baseUrl }),
  };
}

function tokens(count: number | undefined, field: string): number {
  const value = count ?? 0;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw refused(field, value, "a whole number of at least 0");
}

function added(cost: number | undefined, more: number | undefined): number | undefined {
  if (more === undefined) return cost;
  if (Number.isFinite(more) && more >= 0) return (cost ?? 0) + more;
  throw refused("cost_usd", more, "a number of at least 0");
}

function refused(field: string, value: unknown, wanted: string): PostriderError {
  return new PostriderError("invalid_input", `${field} must be ${wanted}, not ${String(value)}.`, {
    details: { field },
  });
}
