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
