import type { InboundState } from "../../core/diagnostics.ts";
import { PostriderError } from "../../core/errors.ts";
import type { Source } from "../../core/source.ts";
import type { PlatformCursor } from "../../core/turn.ts";
import type { Db } from "./db.ts";
import { inboxNumberByMessageIdSql, insertInboxSql, setCursorSql } from "./statements/inbox.ts";

/** The values of inbox.state, by number. */
export const INBOX_STATES: readonly InboundState[] = [
  "waiting",
  "running",
  "done",
  "cancelled",
  "unanswered",
  "refused",
];

export interface InboundKey {
  readonly profile: string;
  readonly source: Pick<Source, "platform" | "chatId">;
  readonly messageId: string;
  readonly cursor?: PlatformCursor;
  readonly now: number;
}

/** The row of an earlier message with this id. The cursor moves in any case. */
export function findDuplicate(db: Db, input: InboundKey): number | undefined {
  const { profile, source, messageId } = input;
  if (messageId === "") {
    // Without an id, every message would be a duplicate of the first.
    throw new PostriderError("invalid_input", "A message needs its id on the platform.", {
      details: { field: "messageId" },
    });
  }
  const found = db.get<{ n: number }>(
    inboxNumberByMessageIdSql,
    profile,
    source.platform,
    source.chatId,
    messageId,
  );
  moveCursor(db, input);
  return found?.n;
}

export function moveCursor(db: Db, { cursor, now }: Pick<InboundKey, "cursor" | "now">): void {
  if (cursor !== undefined) db.send(setCursorSql, cursor.name, cursor.value, now);
}

export interface InboxColumns {
  readonly conversation: number;
  readonly state: InboundState;
  readonly runner?: string | undefined;
  readonly message?: string;
  readonly source?: string;
  readonly turn?: number;
  readonly seq?: number;
}

export function insertInboxRow(
  db: Db,
  { profile, source, messageId, now }: InboundKey,
  row: InboxColumns,
): number {
  return db.insert(
    insertInboxSql,
    profile,
    source.platform,
    source.chatId,
    messageId,
    row.conversation,
    now,
    INBOX_STATES.indexOf(row.state),
    row.runner ?? null,
    row.message ?? null,
    row.source ?? null,
    row.turn ?? null,
    row.seq ?? null,
  );
}
