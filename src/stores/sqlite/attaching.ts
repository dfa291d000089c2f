import type { Opened } from "../../core/conversation.ts";
import { isRefused, type Refused } from "../../core/refusal.ts";
import type { Ask, Attach } from "../../ports/store.ts";
import type { Db } from "./connection.ts";
import { requireObject } from "./json-columns.ts";
import { beginConversation, decide, opened, type Place, placeOf } from "./routing.ts";
import type { SessionRow } from "./rows.ts";
import * as sql from "./sql.ts";
import {
  keptSession,
  leaveChat,
  moveTo,
  noConversation,
  noSession,
  notForAll,
  type PlaceRow,
  speaksIn,
} from "./switching.ts";

export function attach(db: Db, input: Ask & Attach): Opened | Refused {
  const { asker, now } = input;
  const target = keptSession(db, input.session);
  if (target === undefined) return noSession;
  // Its agent would be made from what cannot be read.
  if (target.config !== null)
    requireObject(target.config, { table: "sessions", column: "config", row: target.handle });
  const place = placeOf(db, input);
  const { found } = place;
  if (found === undefined) return begin(db, input, place, target);
  if (!speaksIn(asker, found)) return noConversation;
  const moved = moveTo(db, asker, found, target, now, found.account !== place.account);
  if (isRefused(moved) || moved.session.endedAt === undefined) return moved;
  // Closed by hand, while the conversation went on pointing there.
  db.run(sql.reopen, target.n);
  return opened(db, found.n, moved);
}

/** A conversation that begins with a session that is there already. */
function begin(db: Db, input: Ask & Attach, place: Place, target: SessionRow): Opened | Refused {
  const { asker, source, profile, now } = input;
  const person = place.person();
  const here: PlaceRow = {
    platform: source.platform,
    chat_type: source.chatType,
    chat_id: source.chatId,
    thread_id: source.threadId ?? "",
    person: person ?? null,
  };
  if (!speaksIn(asker, here)) return noConversation;
  const refused = notForAll(asker, here, target) ?? leaveChat(db, here, target, now);
  if (refused !== undefined) return refused;
  db.run(sql.insertProfile, profile, now);
  const n = beginConversation(db, input, place.account, person, target.n, now);
  decide(db, n, now, "created", { to: target.id });
  db.run(sql.reopen, target.n);
  return opened(db, n, { created: false, scopeKept: false });
}
