import type { Db } from "../sql/db.ts";
import {
  findHistoryRuns,
  findMessageRuns,
  getRunLength,
  type MessageRun,
  readRunRows,
  splitRuns,
} from "../sql/session-reads.ts";

/** Finding the ranges is a short read; the number of messages decides which thread reads them. */
const RUN_FINDERS: ReadonlyMap<string, (db: Db, input: never) => MessageRun[] | undefined> = new Map([
  ["readHistory", findHistoryRuns],
  ["listMessages", findMessageRuns],
]);
/** The name of the call to the reader thread. */
export const PIECES = "pieces";
const MAX_PIECE_LENGTH = 1000;

/** A read whose result is a list of messages. */
export interface HistoryRead {
  readonly name: string;
  readonly input: unknown;
}

/** The raw rows of a range: arrays cross threads at half the cost of messages. */
export interface HistoryPiece {
  readonly run: MessageRun;
  readonly rows: readonly unknown[][];
}

/** `undefined` for a read of another kind, and for a session that the asker may not read. */
export function findRuns(db: Db, { name, input }: HistoryRead): MessageRun[] | undefined {
  return RUN_FINDERS.get(name)?.(db, input as never);
}

export function countMessages(runs: readonly MessageRun[]): number {
  return runs.reduce((sum, run) => sum + getRunLength(run), 0);
}

/**
 * Reads a history in pieces, and passes on each before it reads the next. Ranges and rows come from the same snapshot: a
 * removal or an erasure in between would else leave a part of the history. False if there is no such session.
 */
export function readPieces(
  db: Db,
  read: HistoryRead,
  onPiece: (index: number, piece: HistoryPiece) => void,
): boolean {
  const runs = findRuns(db, read);
  if (runs === undefined) return false;
  splitRuns(runs, MAX_PIECE_LENGTH).forEach((run, index) => {
    onPiece(index, { run, rows: readRunRows(db, run) });
  });
  return true;
}
