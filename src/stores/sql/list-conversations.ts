import { PostriderError } from "../../core/errors.ts";
import type { ConversationQuery, CurrentConversation, Page } from "../../core/listing.ts";
import { type Asker, isEveryone } from "../../core/owner.ts";
import type { Db } from "./db.ts";
import { describeConversation } from "./diagnostics.ts";
import { getSessionRow } from "./routing.ts";
import { type ConversationRow, toSession } from "./rows.ts";
import { buildConversationListSql, CONVERSATION_CONDITIONS } from "./statements/conversations.ts";
import { canSpeakIn } from "./switching.ts";
import { isVisible } from "./visibility.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

export function listConversations(db: Db, input: ConversationQuery): Page<CurrentConversation> {
  const limit = Math.max(1, Math.min(MAX_LIMIT, input.limit ?? DEFAULT_LIMIT));
  const items: CurrentConversation[] = [];
  let after = parseCursor(input.cursor);
  for (;;) {
    const rows = readRowsAfter(db, input, after, limit);
    for (const row of rows) {
      const found = toCurrentConversation(db, input.asker, row);
      if (found === undefined) continue;
      // The page is full: this conversation starts the next page.
      if (items.length === limit) return { items, cursor: String(items.at(-1)?.conversation.number) };
      items.push(found);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return { items };
    after = last.n;
  }
}

/** An index finds the conversations of one person; those of a chat have no person. */
function readRowsAfter(db: Db, input: ConversationQuery, after: number, limit: number): ConversationRow[] {
  const { asker, platform } = input;
  const conditions: string[] = [];
  const values: unknown[] = [after];
  if (!isEveryone(asker)) {
    const { person, personOrChat } = CONVERSATION_CONDITIONS;
    conditions.push(asker.chat === undefined ? person : personOrChat);
    values.push(asker.person);
  }
  if (platform !== undefined) {
    conditions.push(CONVERSATION_CONDITIONS.platform);
    values.push(platform);
  }
  return db.all<ConversationRow>(buildConversationListSql(conditions), ...values, limit);
}

function toCurrentConversation(db: Db, asker: Asker, row: ConversationRow): CurrentConversation | undefined {
  if (!canSpeakIn(asker, row)) return undefined;
  const session = getSessionRow(db, row.session);
  if (session.removed_at !== null || !isVisible(asker, session)) return undefined;
  return { conversation: describeConversation(db, row), session: toSession(session) };
}

function parseCursor(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new PostriderError("invalid_input", "The cursor is not from a page of this list.", {
    details: { field: "cursor" },
  });
}
