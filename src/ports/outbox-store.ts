import type { Delivery, Enqueue, Settle, SettledDelivery } from "../core/delivery.ts";
import type { Refused } from "../core/refusal.ts";
import type { BeginDraft, DraftOutcome } from "../core/turn.ts";

/** Deliveries on their way to a platform. */
export interface OutboxStore {
  /** The attempt is counted before it is made. `undefined` unless it waits: somebody else may have begun it. */
  beginDelivery(input: {
    readonly delivery: number;
    readonly runner: string;
    readonly now: number;
  }): Promise<Delivery | undefined>;
  /** The attempt's outcome is known; a sent delivery is never sent again. */
  settle(input: Settle): Promise<SettledDelivery | Refused>;
  /** Deliveries that no turn has made; what they answer is done in the same commit. */
  enqueue(input: Enqueue): Promise<{ readonly deliveries: readonly Delivery[] }>;
  /** A draft of a running turn's answer is about to be shown: one a turn. */
  beginDraft(input: BeginDraft): Promise<Delivery | Refused>;
  recordDraftOutcome(input: DraftOutcome): Promise<void>;
  /** One of them, whatever became of it; the program's own look. */
  getDelivery(input: { readonly number: number }): Promise<Delivery | undefined>;
  /** What waits, in order, of one platform or of all; above a number, if one is given. */
  listPendingDeliveries(input: {
    readonly dueAt: number;
    readonly limit: number;
    readonly platform?: string;
    readonly after?: number;
  }): Promise<readonly Delivery[]>;
  /** Those that have stepped aside and are not settled yet, in order. */
  listDeferredDeliveries(input: { readonly limit: number }): Promise<readonly Delivery[]>;
  /** What a runner that is gone had begun to send, in order. Drafts are their turns' matter. */
  listOrphanedDeliveries(input: {
    readonly platform: string;
    readonly now: number;
  }): Promise<readonly Delivery[]>;
}
