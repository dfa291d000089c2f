import type { PurposeUsage, Usage } from "./usage.ts";
import type { DayUsage } from "./usage-days.ts";

/** Messages and usage in a period. */
export interface Insights {
  readonly sessions: number;
  readonly messages: number;
  readonly humanMessages: number;
  readonly toolCalls: number;
  /** Usage in the period, from the start of the quarter of an hour in which it begins. */
  readonly usage: Usage;
  /** The same by purpose and by day. Each list adds up to `usage`. */
  readonly usageByPurpose: readonly PurposeUsage[];
  readonly usageByDay: readonly DayUsage[];
  readonly byPlatform: readonly {
    readonly platform: string;
    readonly sessions: number;
    readonly messages: number;
  }[];
  /** The sessions with the most messages, first the busiest. */
  readonly busiest: readonly {
    readonly handle: string;
    readonly title?: string;
    readonly messages: number;
  }[];
}
