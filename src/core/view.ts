import { PostriderError } from "./errors.ts";

/**
 * The messages `from` to `to` (inclusive) of one session, by its number in the store. Without `to` the piece is open and grows
 * with the session. Only the last piece of a view is open, and it always belongs to the session itself.
 */
export interface Piece {
  readonly session: number;
  readonly from: number;
  readonly to?: number;
}

/** The view of a session, with the data needed to change it. */
export interface ViewState {
  readonly self: number;
  /** The seq of the session's next message. The first is 1. */
  readonly nextSeq: number;
  readonly pieces: readonly Piece[];
  /** Own messages that undo or rewrite removed from the view. Search skips them by default. Sorted and disjoint. */
  readonly hidden: readonly SeqRange[];
}

export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** A piece with both ends, as in stored versions. */
export type ClosedPiece = Required<Piece>;

/** The view of a session without messages. */
export function createView(self: number): ViewState {
  return { self, nextSeq: 1, pieces: [{ session: self, from: 1 }], hidden: [] };
}

/** The current view as closed pieces. None is empty, and adjacent ones are joined. */
export function listShownPieces(state: ViewState): readonly ClosedPiece[] {
  return joinPieces(state.pieces.map(({ session, from, to = state.nextSeq - 1 }) => ({ session, from, to })));
}

/** The number of the session's own messages and of the messages that it shows from others. */
export function countHeld(state: ViewState): number {
  const others = listShownPieces(state).filter(({ session }) => session !== state.self);
  return state.nextSeq - 1 + sumLengths(others);
}

export function countShown(state: ViewState): number {
  return sumLengths(listShownPieces(state));
}

/** The 0-based position of a message in the view. `undefined` if it is not shown. */
export function findPosition(state: ViewState, session: number, seq: number): number | undefined {
  let before = 0;
  for (const piece of listShownPieces(state)) {
    if (piece.session === session && piece.from <= seq && seq <= piece.to) return before + seq - piece.from;
    before += piece.to - piece.from + 1;
  }
  return undefined;
}

/** The inverse of `findPosition`. */
export function findMessageAt(
  state: ViewState,
  position: number,
): { session: number; seq: number } | undefined {
  if (!Number.isInteger(position) || position < 0) return undefined;
  let rest = position;
  for (const piece of listShownPieces(state)) {
    const length = piece.to - piece.from + 1;
    if (rest < length) return { session: piece.session, seq: piece.from + rest };
    rest -= length;
  }
  return undefined;
}

/** Adds `count` messages. The open last piece grows, so the list of pieces stays the same. */
export function appendToView(state: ViewState, count: number): ViewState {
  return { ...state, nextSeq: state.nextSeq + checkWhole(count, "count") };
}

/** Shows only the first `keep` messages, for undo, retry and rewind. A larger `keep` changes nothing. */
export function cutView(state: ViewState, keep: number): ViewState {
  return replacePieces(state, state.nextSeq, takeFirst(listShownPieces(state), checkWhole(keep, "keep")));
}

/** Replaces the view with `count` new messages, numbered from `nextSeq`. */
export function rewriteView(state: ViewState, count: number): ViewState {
  const nextSeq = state.nextSeq + checkWhole(count, "count");
  return replacePieces(state, nextSeq, [{ session: state.self, from: state.nextSeq, to: nextSeq - 1 }]);
}

/** Replaces all but the last `keepLast` messages with a summary. The originals are not hidden, so search still finds them. */
export function compressView(state: ViewState, keepLast: number): ViewState {
  const { self, nextSeq, hidden } = state;
  const summary = { session: self, from: nextSeq, to: nextSeq };
  const tail = takeLast(listShownPieces(state), checkWhole(keepLast, "keepLast"));
  return { self, nextSeq: nextSeq + 1, pieces: addOpenPiece(self, nextSeq + 1, [summary, ...tail]), hidden };
}

/** Shows exactly these pieces, for redo and for restoring a version. */
export function restoreView(state: ViewState, pieces: readonly ClosedPiece[]): ViewState {
  for (const { session, from, to } of pieces) {
    if (from < 1 || (session === state.self && to >= state.nextSeq)) {
      throw new PostriderError("invalid_input", "A view can only contain messages that exist.", {
        details: { field: "pieces", session, from, to },
      });
    }
  }
  return replacePieces(state, state.nextSeq, pieces);
}

/** The view of a fork: the original's first `keep` messages (default all), then its own. */
export function forkView(origin: ViewState, self: number, keep?: number): ViewState {
  const shown = listShownPieces(origin);
  const kept = keep === undefined ? shown : takeFirst(shown, checkWhole(keep, "keep"));
  return { self, nextSeq: 1, pieces: addOpenPiece(self, 1, kept), hidden: [] };
}

/** Replaces the pieces. Own messages that are no longer shown become hidden, and vice versa. */
function replacePieces(state: ViewState, nextSeq: number, closed: readonly ClosedPiece[]): ViewState {
  const own = getOwnRanges(state.self, closed);
  const left = subtractRanges(getOwnRanges(state.self, listShownPieces(state)), own);
  const hidden = subtractRanges(mergeRanges([...state.hidden, ...left]), own);
  return { self: state.self, nextSeq, pieces: addOpenPiece(state.self, nextSeq, closed), hidden };
}

/** Adds the open piece at the end. A last own piece that ends before `nextSeq` becomes that open piece. */
function addOpenPiece(self: number, nextSeq: number, closed: readonly ClosedPiece[]): readonly Piece[] {
  const pieces: Piece[] = joinPieces(closed);
  const last = pieces.at(-1);
  const continues = last !== undefined && last.session === self && last.to === nextSeq - 1;
  if (continues) pieces.pop();
  pieces.push({ session: self, from: continues ? last.from : nextSeq });
  return pieces;
}

function joinPieces(pieces: readonly ClosedPiece[]): ClosedPiece[] {
  const result: ClosedPiece[] = [];
  for (const { session, from, to } of pieces) {
    if (to < from) continue;
    const last = result.at(-1);
    if (last !== undefined && last.session === session && last.to + 1 === from) {
      result[result.length - 1] = { session, from: last.from, to };
    } else {
      result.push({ session, from, to });
    }
  }
  return result;
}

function sumLengths(pieces: readonly ClosedPiece[]): number {
  return pieces.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0);
}

function takeFirst(pieces: readonly ClosedPiece[], count: number): ClosedPiece[] {
  const result: ClosedPiece[] = [];
  let rest = count;
  for (const { session, from, to } of pieces) {
    if (rest <= 0) break;
    result.push({ session, from, to: Math.min(to, from + rest - 1) });
    rest -= to - from + 1;
  }
  return result;
}

function takeLast(pieces: readonly ClosedPiece[], count: number): ClosedPiece[] {
  const result: ClosedPiece[] = [];
  let rest = count;
  for (const { session, from, to } of pieces.toReversed()) {
    if (rest <= 0) break;
    result.unshift({ session, from: Math.max(from, to - rest + 1), to });
    rest -= to - from + 1;
  }
  return result;
}

function getOwnRanges(self: number, pieces: readonly ClosedPiece[]): SeqRange[] {
  return mergeRanges(pieces.filter((piece) => piece.session === self));
}

function mergeRanges(ranges: readonly SeqRange[]): SeqRange[] {
  const result: SeqRange[] = [];
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    if (to < from) continue;
    const last = result.at(-1);
    if (last !== undefined && from <= last.to + 1) {
      result[result.length - 1] = { from: last.from, to: Math.max(last.to, to) };
    } else {
      result.push({ from, to });
    }
  }
  return result;
}

/** The parts of `ranges` outside of `taken`. Both are sorted and disjoint. */
function subtractRanges(ranges: readonly SeqRange[], taken: readonly SeqRange[]): SeqRange[] {
  const result: SeqRange[] = [];
  for (const range of ranges) {
    let from = range.from;
    for (const hole of taken) {
      if (hole.to < from || hole.from > range.to) continue;
      if (from < hole.from) result.push({ from, to: hole.from - 1 });
      from = hole.to + 1;
    }
    if (from <= range.to) result.push({ from, to: range.to });
  }
  return result;
}

function checkWhole(value: number, field: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new PostriderError("invalid_input", `${field} must be a whole number of messages, not ${value}.`, {
    details: { field },
  });
}
