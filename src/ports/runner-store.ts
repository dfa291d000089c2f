import type { HeldLease, Runner } from "../core/runner.ts";
import type { Now } from "./store-request.ts";

/** Which processes are alive, and leases: things that may exist once. */
export interface RunnerStore {
  recordHeartbeat(input: { readonly runner: Runner } & Now): Promise<void>;
  retire(input: { readonly runner: string }): Promise<void>;
  /** A rising number for the holder; `undefined` while another live runner holds it. */
  acquireLease(
    input: {
      readonly name: string;
      readonly runner: string;
      readonly ttlMs: number;
      readonly about?: string;
    } & Now,
  ): Promise<number | undefined>;
  releaseLease(input: { readonly name: string; readonly runner: string }): Promise<boolean>;
  /**
   * What may exist once and is held now, by a runner that lives. With `silent`, also what has run out although the process
   * of its holder exists on this machine, marked with `silentSince`.
   */
  listLeases(input: Now & { readonly silent?: boolean }): Promise<readonly HeldLease[]>;
}
