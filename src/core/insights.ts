import type { PurposeUsage, Usage } from "./usage.ts";
import type { DayUsage } from "./usage-days.ts";

/** What was said and used in a span of time. */
export interface Insights {
  readonly sessions: number;
  readonly messages: number;
  readonly humanMessages: number;
  readonly toolCalls: number;
  /** In the time alone, from the full quarter of an hour on in which it begins. */
  readonly usage: Usage;
  /** The same by purpose and by day; each adds up to `usage`. */
  readonly usageByPurpose: readonly PurposeUsage[];
  readonly usageByDay: readonly DayUsage[];
  readonly byPlatform: readonly {
    readonly platform: string;
    readonly sessions: number;
    readonly messages: number;
  }[];
  /** The longest, most used first. */
  readonly busiest: readonly {
    readonly handle: string;
    readonly title?: string;
    readonly messages: number;
  }[];
}
