import type { Flush, Memory, MemoryChange, MemoryOwner } from "../core/memory.ts";
import type { Refused } from "../core/refusal.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Now } from "./store-request.ts";

/** What is remembered of people and chats, and the flushes that find it. */
export interface MemoryStore {
  /** Applied to what is remembered now, whoever changed it last. Refused as `changedMemory` refuses. */
  changeMemory(
    input: { readonly owner: MemoryOwner; readonly change: MemoryChange } & Now,
  ): Promise<Memory | Refused>;
  /** As it was in that version, which becomes the newest. */
  restoreMemory(
    input: { readonly owner: MemoryOwner; readonly version: number } & Now,
  ): Promise<Memory | Refused>;
  /**
   * What was said in the session up to now is to be told to the memory: a row, once. False for sessions of jobs and webhooks,
   * before four messages were said, and when nothing was said since the last time.
   */
  requestFlush(input: { readonly session: string } & Now): Promise<boolean>;
  /** The oldest that waits, or whose runner is gone; begun twice at most. Only of sessions of this owner, if one is named. */
  claimFlush(
    input: { readonly runner: string; readonly owner?: MemoryOwner } & Now,
  ): Promise<Flush | undefined>;
  /**
   * Done, with all its changes or, where newer memory contradicts, those that still fit. Refused unless this runner had
   * claimed it: then nothing is changed. What it used is counted in its session, in the same commit.
   */
  finishFlush(
    input: {
      readonly flush: number;
      readonly runner: string;
      readonly changes: readonly MemoryChange[];
      readonly usage?: UsageDelta;
    } & Now,
  ): Promise<Memory | Refused>;
  getMemory(input: { readonly owner: MemoryOwner }): Promise<Memory>;
  /** Newest first. */
  listMemoryVersions(input: {
    readonly owner: MemoryOwner;
    readonly limit?: number;
  }): Promise<readonly Memory[]>;
}
