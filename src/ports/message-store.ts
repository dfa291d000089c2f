import type { HistoryQuery, Hit, MessageRangeQuery, SearchRequest, ViewVersion } from "../core/listing.ts";
import type { Message, NewMessage } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { Blob } from "../core/turn.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { ViewChange, ViewChangeResult } from "../core/view-change.ts";
import type { Maybe, SessionRequest } from "./store-request.ts";

/** What was said, what a session shows of it, and search. */
export interface MessageStore {
  /** The messages follow each other at the end of the session. With a fence, only the turn's holder may. */
  append(input: Append): Maybe<{ readonly seqs: readonly number[] }>;
  changeView(input: ViewChange): Maybe<ViewChangeResult>;
  /** What the session shows, in order. */
  readHistory(input: HistoryQuery): Promise<readonly Message[] | undefined>;
  /** Everything ever said in it. */
  listMessages(input: MessageRangeQuery): Promise<readonly Message[] | undefined>;
  /** What it shows, as runs of messages; and which of its own messages are hidden. */
  getViewRanges(input: SessionRequest): Promise<ViewRanges | undefined>;
  listVersions(input: SessionRequest): Promise<readonly ViewVersion[]>;
  searchMessages(input: SearchRequest): Promise<readonly Hit[]>;
  /** How many messages such a search leaves out because they still wait for the index; the oldest are left out first. */
  countUnindexed(input: SearchRequest): Promise<number>;
  /** Bytes of a part of a message that the asker may see. */
  readBlob(input: { readonly asker: Asker; readonly hash: string }): Promise<Uint8Array | undefined>;
}

export interface Append extends SessionRequest {
  readonly messages: readonly NewMessage[];
  readonly blobs?: readonly Blob[];
  readonly fence?: number;
  /** What the model has used for these messages and was not counted yet: the same commit counts it. */
  readonly usage?: UsageDelta;
  readonly now: number;
}

export interface ViewRanges {
  readonly pieces: readonly { readonly session: string; readonly from: number; readonly to: number }[];
  readonly hidden: readonly { readonly from: number; readonly to: number }[];
}
