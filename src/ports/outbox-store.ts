import type { Delivery, Enqueue, Settle, SettledDelivery } from "../core/delivery.ts";
import type { Refused } from "../core/refusal.ts";
import type { BeginDraft, DraftOutcome } from "../core/turn.ts";

/** Outbound deliveries, from the commit that creates them to their outcome. */
export interface OutboxStore {
  /** Counts an attempt before it is made. `undefined` unless the delivery is waiting; another runner may have started it. */
  beginDelivery(input: {
    readonly delivery: number;
    readonly runner: string;
    readonly now: number;
  }): Promise<Delivery | undefined>;
  /** Stores the outcome of the attempt. A delivery that was sent is never sent again. */
  settle(input: Settle): Promise<SettledDelivery | Refused>;
  /** Stores deliveries that belong to no turn, and marks the command that they answer as done, in one commit. */
  enqueue(input: Enqueue): Promise<{ readonly deliveries: readonly Delivery[] }>;
  /** Stores the draft delivery of a running turn before it is shown. One for each turn; refused under an old fence. */
  beginDraft(input: BeginDraft): Promise<Delivery | Refused>;
  /** Stores whether the draft was shown. A draft that certainly did not arrive is deleted. */
  recordDraftOutcome(input: DraftOutcome): Promise<void>;
  /** One delivery in any state, without a check of permissions. */
  getDelivery(input: { readonly number: number }): Promise<Delivery | undefined>;
  /**
   * Waiting deliveries that are due at `dueAt`, in order; of one platform or all; without those in `except`. Numbers do not
   * rise in the order of the commits: a reader asks for everything except the deliveries that it knows.
   */
  listPendingDeliveries(input: {
    readonly dueAt: number;
    readonly limit: number;
    readonly platform?: string;
    readonly except?: readonly number[];
  }): Promise<readonly Delivery[]>;
  /** Deferred deliveries (later ones do not wait for them) without a final outcome, in order. */
  listDeferredDeliveries(input: { readonly limit: number }): Promise<readonly Delivery[]>;
  /** Deliveries that a runner was sending when it ended, in order. Drafts are not among them: their turns recover them. */
  listOrphanedDeliveries(input: {
    readonly platform: string;
    readonly now: number;
  }): Promise<readonly Delivery[]>;
}
