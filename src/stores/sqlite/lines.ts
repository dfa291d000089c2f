import { type NewMessage, text, textOf } from "../../core/message.ts";
import type { Source } from "../../core/source.ts";
import type { AcceptLine, LeftLine } from "../../core/turn.ts";
import type { Db } from "./connection.ts";
import { insertInbox, seenBefore } from "./inbox.ts";
import { convertReadable, requireObject } from "./json-columns.ts";
import { left } from "./runners.ts";
import * as sql from "./sql.ts";

/** In inbox.conversation: a line belongs to none, and must not make one. */
const NONE = 0;

export function acceptLine(db: Db, input: AcceptLine): { duplicate: boolean; inbox: number } {
  const seen = seenBefore(db, input);
  if (seen !== undefined) return { duplicate: true, inbox: seen };
  // As a message, so that whoever reads the column finds one kind of thing there.
  const message: NewMessage = { role: "user", parts: [text(input.line)] };
  const inbox = insertInbox(db, input, {
    conversation: NONE,
    state: "unanswered",
    runner: input.runner,
    message: JSON.stringify(message),
    source: JSON.stringify(input.source),
  });
  return { duplicate: false, inbox };
}

interface LineRow {
  n: number;
  message_id: string;
  message: string;
  source: string;
  runner: string | null;
}

export function leftLines(db: Db, input: { platform: string; now: number }): LeftLine[] {
  const rows = left(db, db.all<LineRow>(sql.linesOn, input.platform), input.now);
  return convertReadable(rows, (row) => ({
    inbox: row.n,
    source: requireObject<Source>(row.source, { table: "inbox", column: "source", row: row.n }),
    messageId: row.message_id,
    line: textOf(requireObject<NewMessage>(row.message, { table: "inbox", column: "message", row: row.n })),
  }));
}
