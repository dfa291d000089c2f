import { getText, type NewMessage, textPart } from "../../core/message.ts";
import type { Source } from "../../core/source.ts";
import type { AcceptCommand, OrphanedCommand } from "../../core/turn.ts";
import type { Db } from "./db.ts";
import { findDuplicate, insertInboxRow } from "./inbox.ts";
import { convertReadable, requireObject } from "./json-columns.ts";
import { filterOrphaned } from "./runners.ts";
import { unansweredCommandsSql } from "./statements/inbox.ts";

/** In inbox.conversation: a command belongs to no conversation, and must not create one. */
const NO_CONVERSATION = 0;

export function acceptCommand(db: Db, input: AcceptCommand): { duplicate: boolean; inbox: number } {
  const duplicate = findDuplicate(db, input);
  if (duplicate !== undefined) return { duplicate: true, inbox: duplicate };
  // Stored as a message, so that the column has one format.
  const message: NewMessage = { role: "user", parts: [textPart(input.line)] };
  const inbox = insertInboxRow(db, input, {
    conversation: NO_CONVERSATION,
    state: "unanswered",
    runner: input.runner,
    message: JSON.stringify(message),
    source: JSON.stringify(input.source),
  });
  return { duplicate: false, inbox };
}

interface CommandRow {
  n: number;
  message_id: string;
  message: string;
  source: string;
  runner: string | null;
}

export function listOrphanedCommands(db: Db, input: { platform: string; now: number }): OrphanedCommand[] {
  const rows = filterOrphaned(db, db.all<CommandRow>(unansweredCommandsSql, input.platform), input.now);
  return convertReadable(rows, (row) => ({
    inbox: row.n,
    source: requireObject<Source>(row.source, { table: "inbox", column: "source", row: row.n }),
    messageId: row.message_id,
    line: getText(requireObject<NewMessage>(row.message, { table: "inbox", column: "message", row: row.n })),
  }));
}
