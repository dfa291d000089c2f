import type { NewMessage } from "../../core/message.ts";
import type { InboundEdit, InboundEditOutcome } from "../../core/turn.ts";
import { recordBlobUses } from "./append.ts";
import { getBlobHashes, releaseBlob } from "./blobs.ts";
import type { Db } from "./db.ts";
import { INBOX_STATES, moveCursor } from "./inbox.ts";
import { parseObject } from "./json-columns.ts";
import { getConversationRow } from "./routing.ts";
import { insertBlobSql } from "./statements/blobs.ts";
import {
  cancelInboxSql,
  editPendingSql,
  inboxByMessageIdSql,
  recordEditSql,
  recordWithdrawalSql,
} from "./statements/inbox.ts";

interface InboundRow {
  n: number;
  conversation: number;
  state: number;
  message: string;
}

export function editInbound(db: Db, input: InboundEdit): InboundEditOutcome {
  const { profile, source, message, now } = input;
  moveCursor(db, input);
  const row = db.get<InboundRow>(
    inboxByMessageIdSql,
    profile,
    source.platform,
    source.chatId,
    input.messageId,
  );
  if (row === undefined) return "unknown";
  db.send(message === undefined ? recordWithdrawalSql : recordEditSql, now, row.n);
  if (INBOX_STATES[row.state] !== "waiting") return "late";
  const before = parseObject<NewMessage>(row.message) ?? { role: "user", parts: [] };
  if (message === undefined) db.send(cancelInboxSql, row.n);
  else {
    for (const { hash, bytes } of input.blobs ?? []) db.send(insertBlobSql, hash, bytes.byteLength, bytes);
    recordBlobUses(db, getConversationRow(db, row.conversation).session, message);
    db.send(editPendingSql, JSON.stringify(applyEdit(before, message)), row.n);
  }
  for (const hash of getBlobHashes(before)) releaseBlob(db, hash);
  return "changed";
}

/** The new content, with the time, the sender and the chat of the old message. */
function applyEdit(before: NewMessage, message: NewMessage): NewMessage {
  const origin = { ...before.origin, ...message.origin };
  return {
    ...message,
    ...(before.at !== undefined && { at: before.at }),
    ...(Object.keys(origin).length > 0 && { origin }),
  };
}
