import { PostriderError } from "./errors.ts";

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

/** A piece with both ends, such as a kept version of the list holds. */
export type ClosedPiece = Required<Piece>;

/** A session in which nothing was said yet. */
export function createView(self: number): ViewState {
  return { self, nextSeq: 1, pieces: [{ session: self, from: 1 }], hidden: [] };
}

/** What the session shows now: closed pieces, none empty, neighbours joined. */
export function listShownPieces(state: ViewState): readonly ClosedPiece[] {
  return joinPieces(state.pieces.map(({ session, from, to = state.nextSeq - 1 }) => ({ session, from, to })));
}

/** All that was said in the session, and what it shows of others. */
export function countHeld(state: ViewState): number {
  const others = listShownPieces(state).filter(({ session }) => session !== state.self);
  return state.nextSeq - 1 + sumLengths(others);
}

export function countShown(state: ViewState): number {
  return sumLengths(listShownPieces(state));
}

/** The 0-based place of a message in the view; `undefined` while it is not shown. */
export function findPosition(state: ViewState, session: number, seq: number): number | undefined {
  let before = 0;
  for (const piece of listShownPieces(state)) {
    if (piece.session === session && piece.from <= seq && seq <= piece.to) return before + seq - piece.from;
    before += piece.to - piece.from + 1;
  }
  return undefined;
}

/** The inverse of `positionOf`. */
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

/** `count` messages more. The open last piece grows in place, so the list stays the very same. */
export function appendToView(state: ViewState, count: number): ViewState {
  return { ...state, nextSeq: state.nextSeq + checkWhole(count, "count") };
}

/** Shows only the first `keep` messages: undo, retry and rewind. A `keep` beyond the end changes nothing shown. */
export function cutView(state: ViewState, keep: number): ViewState {
  return replacePieces(state, state.nextSeq, takeFirst(listShownPieces(state), checkWhole(keep, "keep")));
}

/** `count` new messages, numbered from `nextSeq`, take the place of everything shown. */
export function rewriteView(state: ViewState, count: number): ViewState {
  const nextSeq = state.nextSeq + checkWhole(count, "count");
  return replacePieces(state, nextSeq, [{ session: state.self, from: state.nextSeq, to: nextSeq - 1 }]);
}

/**
 * One new message, the summary, stands for all but the last `keepLast`. The originals are not hidden: they were
 * not taken back, so search still finds them.
 */
export function compressView(state: ViewState, keepLast: number): ViewState {
  const { self, nextSeq, hidden } = state;
  const summary = { session: self, from: nextSeq, to: nextSeq };
  const tail = takeLast(listShownPieces(state), checkWhole(keepLast, "keepLast"));
  return { self, nextSeq: nextSeq + 1, pieces: addOpenPiece(self, nextSeq + 1, [summary, ...tail]), hidden };
}

/** Shows exactly these pieces again: redo, and going back to a kept version. */
export function restoreView(state: ViewState, pieces: readonly ClosedPiece[]): ViewState {
  for (const { session, from, to } of pieces) {
    if (from < 1 || (session === state.self && to >= state.nextSeq)) {
      throw new PostriderError("invalid_input", "A view can only show messages that were said.", {
        details: { field: "pieces", session, from, to },
      });
    }
  }
  return replacePieces(state, state.nextSeq, pieces);
}

/** A new session that shows the origin's first `keep` messages (all by default), then what it says itself. */
export function forkView(origin: ViewState, self: number, keep?: number): ViewState {
  const shown = listShownPieces(origin);
  const kept = keep === undefined ? shown : takeFirst(shown, checkWhole(keep, "keep"));
  return { self, nextSeq: 1, pieces: addOpenPiece(self, 1, kept), hidden: [] };
}

/** The session with another list. What it showed of its own and no longer shows is hidden, and the reverse. */
function replacePieces(state: ViewState, nextSeq: number, closed: readonly ClosedPiece[]): ViewState {
  const own = getOwnRanges(state.self, closed);
  const left = subtractRanges(getOwnRanges(state.self, listShownPieces(state)), own);
  const hidden = subtractRanges(mergeRanges([...state.hidden, ...left]), own);
  return { self: state.self, nextSeq, pieces: addOpenPiece(state.self, nextSeq, closed), hidden };
}

/** Ends the list with the own open piece; a last own piece that reaches up to `nextSeq` becomes that piece. */
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

/** What `ranges` hold and `taken` do not; both sorted and disjoint. */
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
