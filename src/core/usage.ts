import { joinCostStatus } from "./cost-status.ts";
import { PostriderError } from "./errors.ts";

/** The purpose of a model request: an answer, a title, the memory (`flush`) or a summary (`compress`). */
export type UsagePurpose = "answer" | "title" | "flush" | "compress";

export const USAGE_PURPOSES: readonly UsagePurpose[] = ["answer", "title", "flush", "compress"];

/** The usage of one model request. Numbers are added, except `lastPromptTokens`, which replaces the old value. */
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
  /** A `CostStatus`, or another text from an imported session. */
  readonly costStatus: string;
  /** Where the cost comes from: `provider`, `price table <date>`, or `mixed`. */
  readonly costSource?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly baseUrl?: string;
}

/** The usage of a session for one purpose and model in the quarter of an hour that starts at `at`. */
export interface UsageEntry {
  readonly at: number;
  readonly purpose: UsagePurpose;
  readonly usage: Usage;
}

export interface PurposeUsage {
  readonly purpose: UsagePurpose;
  readonly usage: Usage;
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
 * Adds one model request to the counters. The cost status is that of the weakest part; model, provider and base URL are those
 * of the first request that names them. A caller must not pass its own running total, which would count tokens repeatedly.
 */
export function addUsage(usage: Usage, delta: UsageDelta): Usage {
  const inputTokens = usage.inputTokens + checkTokens(delta.inputTokens, "input_tokens");
  const outputTokens = usage.outputTokens + checkTokens(delta.outputTokens, "output_tokens");
  const cacheReadTokens = usage.cacheReadTokens + checkTokens(delta.cacheReadTokens, "cache_read_tokens");
  const cacheWriteTokens = usage.cacheWriteTokens + checkTokens(delta.cacheWriteTokens, "cache_write_tokens");
  const reasoningTokens = usage.reasoningTokens + checkTokens(delta.reasoningTokens, "reasoning_tokens");
  const lastPromptTokens = checkTokens(
    delta.lastPromptTokens ?? usage.lastPromptTokens,
    "last_prompt_tokens",
  );
  const costUsd = addCost(usage.costUsd, delta.costUsd);
  const costSource = joinSource(usage.costSource, delta.costSource);
  const model = usage.model || delta.model;
  const provider = usage.provider || delta.provider;
  const baseUrl = usage.baseUrl || delta.baseUrl;
  const totalTokens = inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens,
    totalTokens,
    lastPromptTokens,
    ...(costUsd !== undefined && { costUsd }),
    costStatus: joinCostStatus(
      { tokens: usage.totalTokens, costUsd: usage.costUsd, status: usage.costStatus },
      { tokens: totalTokens - usage.totalTokens, costUsd: delta.costUsd, status: delta.costStatus },
    ),
    ...(costSource && { costSource }),
    ...(model && { model }),
    ...(provider && { provider }),
    ...(baseUrl && { baseUrl }),
  };
}

/** The sum of several parts. Omits model, provider and last prompt, which belong to one part only. */
export function sumUsage(parts: Iterable<UsageDelta>): Usage {
  let sum = emptyUsage();
  for (const { model: _m, provider: _p, baseUrl: _b, lastPromptTokens: _l, ...part } of parts)
    sum = addUsage(sum, part);
  return sum;
}

/** Joins the reports of several requests. Unlike a sum of counters, last prompt and cost stay absent if no report has them. */
export function joinDeltas(earlier: UsageDelta | undefined, more: UsageDelta): UsageDelta {
  const lastPromptTokens = more.lastPromptTokens ?? earlier?.lastPromptTokens;
  const { lastPromptTokens: _, ...sum } = addUsage(addUsage(emptyUsage(), earlier ?? {}), more);
  return { ...sum, ...(lastPromptTokens !== undefined && { lastPromptTokens }) };
}

/** Omits the prompt length, which only the usage of an answer may set. */
export function omitPromptTokens({ lastPromptTokens: _, ...delta }: UsageDelta): UsageDelta {
  return delta;
}

/** The sum of each purpose with usage, in the order of `USAGE_PURPOSES`. */
export function sumByPurpose(entries: Iterable<Pick<UsageEntry, "purpose" | "usage">>): PurposeUsage[] {
  const groups = Map.groupBy(entries, ({ purpose }) => purpose);
  return USAGE_PURPOSES.flatMap((purpose) => {
    const group = groups.get(purpose);
    return group === undefined ? [] : [{ purpose, usage: sumUsage(group.map(({ usage }) => usage)) }];
  });
}

/** Whether any counter is set. A report with only a model's name has no usage. */
export function isUsed({ inputTokens, outputTokens, ...more }: UsageDelta): boolean {
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens, costUsd } = more;
  const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens];
  return costUsd !== undefined || counts.some((count) => count !== undefined && count > 0);
}

/** In every time zone days start at a full quarter of an hour, so sums by day are exact. */
export const USAGE_SPAN_MS: number = 15 * 60_000;

export function toUsageSpan(at: number): number {
  return at - (at % USAGE_SPAN_MS);
}

function joinSource(one: string | undefined, other: string | undefined): string | undefined {
  return one && other && one !== other ? "mixed" : one || other;
}

function checkTokens(count: number | undefined, field: string): number {
  const value = count ?? 0;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw invalidUsage(field, value, "a whole number of at least 0");
}

function addCost(cost: number | undefined, more: number | undefined): number | undefined {
  if (more === undefined) return cost;
  if (Number.isFinite(more) && more >= 0) return (cost ?? 0) + more;
  throw invalidUsage("cost_usd", more, "a number of at least 0");
}

function invalidUsage(field: string, value: unknown, wanted: string): PostriderError {
  return new PostriderError("invalid_input", `${field} must be ${wanted}, not ${String(value)}.`, {
    details: { field },
  });
}
