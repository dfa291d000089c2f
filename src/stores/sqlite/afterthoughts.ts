import type { NewMessage } from "../../core/message.ts";
import type { Afterthought, AfterthoughtOutcome } from "../../core/turn.ts";
import { useBlobs } from "./append.ts";
import { blobsOf, releaseBlob } from "./blobs.ts";
import type { Db } from "./connection.ts";
import { INBOX_STATES, moveCursor } from "./inbox.ts";
import { parseObject } from "./json-columns.ts";
import { conversationRow } from "./routing.ts";
import * as sql from "./sql.ts";

interface ArrivedRow {
  n: number;
  conversation: number;
  state: number;
  message: string;
}

export function reconsider(db: Db, input: Afterthought): AfterthoughtOutcome {
  const { profile, source, message, now } = input;
  moveCursor(db, input);
  const row = db.get<ArrivedRow>(sql.arrived, profile, source.platform, source.chatId, input.messageId);
  if (row === undefined) return "unknown";
  db.run(message === undefined ? sql.noteWithdrawal : sql.noteEdit, now, row.n);
  if (INBOX_STATES[row.state] !== "waiting") return "late";
  const said = parseObject<NewMessage>(row.message) ?? { role: "user", parts: [] };
  if (message === undefined) db.run(sql.cancelInbox, row.n);
  else {
    for (const { hash, bytes } of input.blobs ?? []) db.run(sql.insertBlob, hash, bytes.byteLength, bytes);
    useBlobs(db, conversationRow(db, row.conversation).session, message);
    db.run(sql.editWaiting, JSON.stringify(edited(said, message)), row.n);
  }
  for (const hash of blobsOf(said)) releaseBlob(db, hash);
  return "changed";
}

/** Other words, said at the same time by the same person in the same place. */
function edited(said: NewMessage, message: NewMessage): NewMessage {
  const origin = { ...said.origin, ...message.origin };
  return {
    ...message,
    ...(said.at !== undefined && { at: said.at }),
    ...(Object.keys(origin).length > 0 && { origin }),
  };
}
