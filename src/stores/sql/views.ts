import { createView, type Piece, type ViewState } from "../../core/view.ts";
import type { Db } from "./db.ts";
import type { SessionRow } from "./rows.ts";
import { hiddenRangesSql, viewPiecesSql } from "./statements/views.ts";

interface PieceRow {
  piece_session: number;
  from_seq: number;
  to_seq: number | null;
}

/** The current view of a session. A session whose view never changed has no rows: it shows all its messages. */
export function readView(db: Db, session: Pick<SessionRow, "n" | "next_seq" | "version">): ViewState {
  if (session.version === 0) return { ...createView(session.n), nextSeq: session.next_seq };
  return {
    self: session.n,
    nextSeq: session.next_seq,
    pieces: db.all<PieceRow>(viewPiecesSql, session.n, session.version).map(toPiece),
    hidden: db
      .all<{ from_seq: number; to_seq: number }>(hiddenRangesSql, session.n)
      .map((row) => ({ from: row.from_seq, to: row.to_seq })),
  };
}

function toPiece(row: PieceRow): Piece {
  return { session: row.piece_session, from: row.from_seq, ...(row.to_seq !== null && { to: row.to_seq }) };
}
