import { type Refused, refuse } from "../../core/refusal.ts";
import type { Session } from "../../core/session.ts";
import type { ImportedSession } from "../../core/transfer.ts";
import { ensurePerson } from "./accounts.ts";
import { insertMessages } from "./append.ts";
import type { Db } from "./connection.ts";
import { createSession, originColumns, sessionRow } from "./routing.ts";
import { toSession } from "./rows.ts";
import { freeTitle, setUsage } from "./sessions.ts";
import { showRanges } from "./shapes.ts";
import * as sql from "./sql.ts";

export function importSession(db: Db, input: ImportedSession & { profile: string }): Session | Refused {
  const { session, now, createdAt } = input;
  if (db.get(sql.sessionById, session.id) !== undefined) {
    return refuse("invalid_input", `There is a session ${session.id} already.`, { field: "id" });
  }
  if (!session.owner.startsWith("chat:")) ensurePerson(db, session.owner, now);
  const { title: wanted, ...rest } = session;
  const title = wanted === undefined ? undefined : freeTitle(db, session, wanted);
  const made = createSession(
    db,
    { ...rest, ...(title !== undefined && { title }) },
    { profile: input.profile, owner: session.owner, now: createdAt },
    input.parent,
  );
  const grown = insertMessages(db, made, input.messages, input.blobs, now);
  db.run(sql.growSession, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, made.n);
  const [origin, name] = input.origin === undefined ? [null, null] : originColumns(input.origin);
  db.run(
    `update sessions set audience = ?, platform = ?, origin = ?, display_name = ?, ended_at = ?, end_reason = ?,
       archived_at = ? where n = ?`,
    input.audience ?? null,
    input.origin?.platform ?? null,
    origin,
    input.displayName ?? name,
    input.endedAt ?? null,
    input.endReason ?? null,
    input.archivedAt ?? null,
    made.n,
  );
  setUsage(db, made.n, input.usage);
  showRanges(db, sessionRow(db, made.n), input.shows, input.hidden, now);
  return toSession(sessionRow(db, made.n));
}
