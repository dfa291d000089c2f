import type { NewMessage } from "../../core/message.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./db.ts";
import { parseObject } from "./json-columns.ts";
import { toMessageId } from "./rows.ts";
import {
  laterInputSql,
  messageMetaSql,
  setMessageMetaSql,
  turnInChatSql,
  unattributedMessageSql,
  userMessageSql,
} from "./statements/senders.ts";

/** Stores the sender in the message itself, if so far only its turn has it. */
export function recordSender(db: Db, id: number, { platform, userId, userIdAlt }: Source): void {
  const [row] = db.rows(messageMetaSql, id);
  const stored = (row?.[0] as string | null | undefined) ?? "{}";
  const meta = parseObject<Partial<NewMessage>>(stored);
  if (meta === undefined) return; // an unreadable row stays unchanged, for a repair
  const origin = { ...meta.origin, platform, userId: userId ?? userIdAlt };
  db.send(setMessageMetaSql, JSON.stringify({ ...meta, origin }), id);
}

/**
 * Called before an inbox row is deleted: in a shared session, it may be the only link to the sender. A turn answers the
 * sender of its last input, so only that sender is known.
 */
export function recordLastSender(db: Db, input: { n: number; turn: number; seq: number }): void {
  const { n, turn, seq } = input;
  const found = db.get<{ session: number; target: string }>(turnInChatSql, turn);
  if (found === undefined) return;
  const id = toMessageId(found.session, seq);
  if (db.get(unattributedMessageSql, id) === undefined) return;
  const target = parseObject<Source>(found.target);
  if (target === undefined) return;
  if (target.userId === undefined && target.userIdAlt === undefined) return;
  const another = db.get(userMessageSql, id + 1);
  const isFollowed = another !== undefined && db.get(laterInputSql, n, turn, seq + 1) !== undefined;
  if (!isFollowed) recordSender(db, id, target);
}
