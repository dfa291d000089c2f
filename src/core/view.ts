/**
 * A run of messages `from`…`to` (inclusive) of one session, by its number in the store. `to` undefined = open:
 * it grows as the session does. Only the last piece of a view is open, and it is always the session's own.
 */
export interface Piece {
  readonly session: number;
  readonly from: number;
  readonly to?: number;
}

/** What a session shows, with what is needed to change it. */
export interface ViewState {
  readonly self: number;
  /** The seq that the session's next message will get; the first is 1. */
  readonly nextSeq: number;
  readonly pieces: readonly Piece[];
  /** Own messages that undo or rewrite took away: not searched unless asked for. Sorted, disjoint, closed. */
  readonly hidden: readonly SeqRange[];
}

export interface SeqRange {
  readonly from: number;
  readonly to: number;
}
