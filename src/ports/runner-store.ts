import type { HeldLease, Runner, RunnerRequests } from "../core/runner.ts";
import type { Now } from "./store-request.ts";

/** Runners (live Postrider processes) and the leases that they hold. */
export interface RunnerStore {
  /** Records that the runner is alive. Leases and turns of a runner without a recent heartbeat can be taken over. */
  recordHeartbeat(input: { readonly runner: Runner } & Now): Promise<void>;
  /** Removes the runner when it shuts down, so that others can take over its work at once. */
  retire(input: { readonly runner: string }): Promise<void>;
  /** Asks a runner to hand over its work and to end. False if it is not registered. */
  requestDrain(input: { readonly runner: string } & Now): Promise<boolean>;
  /** What other processes ask of this runner. */
  getRequests(input: { readonly runner: string }): Promise<RunnerRequests>;
  /** Acquires or renews the lease and returns its rising fence number. `undefined` while another live runner holds it. */
  acquireLease(
    input: {
      readonly name: string;
      readonly runner: string;
      readonly ttlMs: number;
      readonly about?: string;
    } & Now,
  ): Promise<number | undefined>;
  /** False if this runner does not hold the lease. */
  releaseLease(input: { readonly name: string; readonly runner: string }): Promise<boolean>;
  /**
   * Leases that live runners hold. With `silent`, also expired leases whose holder's process still exists on this machine,
   * marked with `silentSince`.
   */
  listLeases(input: Now & { readonly silent?: boolean }): Promise<readonly HeldLease[]>;
}
