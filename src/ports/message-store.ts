import type { HistoryQuery, Hit, MessageRangeQuery, SearchRequest, ViewVersion } from "../core/listing.ts";
import type { Message, NewMessage } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { Blob } from "../core/turn.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { ViewChange, ViewChangeResult } from "../core/view-change.ts";
import type { Maybe, SessionRequest } from "./store-request.ts";

/** Messages, the view of each session (the messages that it shows), and search. `undefined`: the asker sees no such session. */
export interface MessageStore {
  /** Appends the messages in order. With a fence, refused unless it is the fence of the session's turn. */
  append(input: Append): Maybe<{ readonly seqs: readonly number[] }>;
  /** Stores a new version of the view. No message is deleted. */
  changeView(input: ViewChange): Maybe<ViewChangeResult>;
  /** The messages of the view, in order. */
  readHistory(input: HistoryQuery): Promise<readonly Message[] | undefined>;
  /** All messages stored in the session, also those that its view no longer shows. */
  listMessages(input: MessageRangeQuery): Promise<readonly Message[] | undefined>;
  /** The view as ranges of messages, and the ranges of the session's own messages that it hides. */
  getViewRanges(input: SessionRequest): Promise<ViewRanges | undefined>;
  /** The versions of the view, newest first. Empty if the asker sees no such session. */
  listVersions(input: SessionRequest): Promise<readonly ViewVersion[]>;
  /** Messages that match and that the asker may see. */
  searchMessages(input: SearchRequest): Promise<readonly Hit[]>;
  /** The number of messages that this search skips because they are not indexed yet. It skips the oldest first. */
  countUnindexed(input: SearchRequest): Promise<number>;
  /** The bytes of a message part, if the asker may see the message. */
  readBlob(input: { readonly asker: Asker; readonly hash: string }): Promise<Uint8Array | undefined>;
}

export interface Append extends SessionRequest {
  readonly messages: readonly NewMessage[];
  readonly blobs?: readonly Blob[];
  readonly fence?: number;
  /** Usage of the model for these messages that is not recorded yet. The same commit records it. */
  readonly usage?: UsageDelta;
  readonly now: number;
}

export interface ViewRanges {
  readonly pieces: readonly { readonly session: string; readonly from: number; readonly to: number }[];
  readonly hidden: readonly { readonly from: number; readonly to: number }[];
}
