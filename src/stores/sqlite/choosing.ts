import type { Conversation, ConversationSettings, SettingsChange } from "../../core/conversation.ts";
import type { Asker } from "../../core/owner.ts";
import type { Refused } from "../../core/refusal.ts";
import type { Db } from "./connection.ts";
import { keyOf, sessionRow } from "./routing.ts";
import { settingsOf, toConversation } from "./rows.ts";
import * as sql from "./sql.ts";
import { knownConversation, noConversation } from "./switching.ts";
import { visible } from "./visible.ts";

export function choose(
  db: Db,
  input: { asker: Asker; conversation: number; change: SettingsChange; now: number },
): Conversation | Refused {
  const row = knownConversation(db, input.asker, input.conversation);
  if (row === undefined) return noConversation;
  const session = sessionRow(db, row.session);
  if (!visible(input.asker, session)) return noConversation;
  const settings = changed(settingsOf(row), input.change);
  db.run(sql.setSettings, settings, row.n);
  return toConversation({ ...row, settings }, keyOf(db, row), session.id);
}

/** `undefined` leaves what was chosen, `null` clears it. */
function changed(settings: ConversationSettings, change: SettingsChange): string | null {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const kept = Object.entries({ ...settings, ...Object.fromEntries(given) }).filter(
    ([, value]) => value !== null,
  );
  return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept));
}
