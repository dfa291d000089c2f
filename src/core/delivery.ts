import type { Part } from "./message.ts";
import type { Source } from "./source.ts";

/** One outbound part on its way to one target. Stored before the platform is called. */
export interface NewDelivery {
  readonly target: Source;
  readonly parts: readonly Part[];
  /** The same process sends it at once: the first attempt is counted in the same commit. */
  readonly begun?: boolean;
}

export type DeliveryState =
  | {
      readonly state: "waiting";
      readonly attempts: number;
      readonly nextAt: number;
      readonly lastError?: string;
    }
  | { readonly state: "sending"; readonly attempts: number; readonly runner?: string }
  | {
      readonly state: "sent";
      readonly attempts: number;
      readonly at: number;
      readonly platformMessageId?: string;
    }
  | { readonly state: "dead"; readonly attempts: number; readonly at: number; readonly lastError: string };

export interface Delivery {
  readonly number: number;
  readonly session: string;
  readonly turn?: number;
  readonly target: Source;
  readonly parts: readonly Part[];
  readonly status: DeliveryState;
}

/** What became of one attempt. */
export interface Settle {
  readonly delivery: number;
  readonly outcome:
    | { readonly state: "sent"; readonly platformMessageId?: string }
    | { readonly state: "waiting"; readonly nextAt: number; readonly error: string }
    | { readonly state: "dead"; readonly error: string };
  readonly now: number;
}
