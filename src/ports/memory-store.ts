import type { Flush, Memory, MemoryChange, MemoryOwner } from "../core/memory.ts";
import type { Refused } from "../core/refusal.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Now } from "./store-request.ts";

/** The memory of people, chats and profiles, and the flushes that add to it. */
export interface MemoryStore {
  /** Applies the change to the newest version and stores the result as the next one. Refused like `applyMemoryChange`. */
  changeMemory(
    input: { readonly owner: MemoryOwner; readonly change: MemoryChange } & Now,
  ): Promise<Memory | Refused>;
  /** Stores the entries of an earlier version as the newest version. */
  restoreMemory(
    input: { readonly owner: MemoryOwner; readonly version: number } & Now,
  ): Promise<Memory | Refused>;
  /**
   * Stores a request to move what is worth remembering from the session into memory. False for sessions of jobs and
   * webhooks, for fewer than four messages, and if there is no new message since the last request.
   */
  requestFlush(input: { readonly session: string } & Now): Promise<boolean>;
  /** Claims the oldest pending flush, or one whose runner ended; two attempts at most. With `owner`, only flushes of this owner. */
  claimFlush(
    input: { readonly runner: string; readonly owner?: MemoryOwner } & Now,
  ): Promise<Flush | undefined>;
  /**
   * Completes the flush: applies all changes that still fit the newest memory and counts the usage in the session, in one
   * commit. Refused, and nothing changes, unless this runner holds the claim.
   */
  finishFlush(
    input: {
      readonly flush: number;
      readonly runner: string;
      readonly changes: readonly MemoryChange[];
      readonly usage?: UsageDelta;
    } & Now,
  ): Promise<Memory | Refused>;
  /** The newest version; version 0 without entries if nothing is stored. */
  getMemory(input: { readonly owner: MemoryOwner }): Promise<Memory>;
  /** Newest first. */
  listMemoryVersions(input: {
    readonly owner: MemoryOwner;
    readonly limit?: number;
  }): Promise<readonly Memory[]>;
}
