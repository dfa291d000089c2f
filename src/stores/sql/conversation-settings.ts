import type { Conversation, ConversationSettings, SettingsChange } from "../../core/conversation.ts";
import type { Asker } from "../../core/owner.ts";
import type { Refused } from "../../core/refusal.ts";
import type { Db } from "./db.ts";
import { buildConversationKey, getSessionRow } from "./routing.ts";
import { parseConversationSettings, toConversation } from "./rows.ts";
import { setSettingsSql } from "./statements/conversations.ts";
import { conversationNotFound, findConversationRow } from "./switching.ts";
import { isVisible } from "./visibility.ts";

export function changeConversationSettings(
  db: Db,
  input: { asker: Asker; conversation: number; change: SettingsChange; now: number },
): Conversation | Refused {
  const row = findConversationRow(db, input.asker, input.conversation);
  if (row === undefined) return conversationNotFound;
  const session = getSessionRow(db, row.session);
  if (!isVisible(input.asker, session)) return conversationNotFound;
  const settings = applySettingsChange(parseConversationSettings(row), input.change);
  db.send(setSettingsSql, settings, row.n);
  return toConversation({ ...row, settings }, buildConversationKey(db, row), session.id);
}

/** `undefined` keeps a setting, `null` clears it. */
function applySettingsChange(settings: ConversationSettings, change: SettingsChange): string | null {
  const changes = Object.entries(change).filter(([, value]) => value !== undefined);
  const kept = Object.entries({ ...settings, ...Object.fromEntries(changes) }).filter(
    ([, value]) => value !== null,
  );
  return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept));
}
