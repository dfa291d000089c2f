import type { Usage } from "./usage.ts";

/** What was said and used in a span of time. */
export interface Insights {
  readonly sessions: number;
  readonly messages: number;
  readonly humanMessages: number;
  readonly toolCalls: number;
  /** Of the sessions that were used in the time, whole: tokens are counted per session. */
  readonly usage: Usage;
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
