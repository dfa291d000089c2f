import type { PersonId } from "../../core/owner.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { NewSession, Session, SessionChange } from "../../core/session.ts";
import { buildNextTitle } from "../../core/titles.ts";
import type { NewTitle, RecordUsage } from "../../ports/session-store.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import { ensurePerson } from "./accounts.ts";
import { checkFence } from "./append.ts";
import type { Db } from "./db.ts";
import { getSessionRow, insertSessionRow } from "./routing.ts";
import { type SessionRow, toSession } from "./rows.ts";
import { deleteHoldSql, upsertHoldSql } from "./statements/holds.ts";
import {
  buildSetSessionColumnSql,
  otherTitlesSql,
  reopenSessionSql,
  type SettableSessionColumn,
  sessionByIdSql,
  sessionByTitleSql,
  setTitleSql,
} from "./statements/sessions.ts";
import { addSessionUsage } from "./usage.ts";
import { findVisibleSession } from "./visibility.ts";

const sessionNotFound: Refused = refuse("not_found", "There is no such session.");

export function create(
  db: Db,
  input: { session: NewSession & { owner: PersonId }; profile: string; now: number },
): Session | Refused {
  const { session, profile, now } = input;
  if (db.get(sessionByIdSql, session.id) !== undefined) {
    return refuse("invalid_input", `There is a session ${session.id} already.`, { field: "id" });
  }
  ensurePerson(db, session.owner, now);
  if (session.title !== undefined && findTitleHolder(db, session.owner, session.title) !== undefined)
    return refuseTakenTitle(session.title);
  return toSession(insertSessionRow(db, session, { profile, owner: session.owner, now }));
}

export function setTitle(db: Db, input: SessionRequest & NewTitle): Session | Refused {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return sessionNotFound;
  if (input.titleUsage !== undefined) addSessionUsage(db, session, { purpose: "title", ...input.titleUsage });
  if (input.ifUntitled && session.title !== null) return toSession(getSessionRow(db, session.n));
  const numbered = input.numbered === true && input.title !== undefined;
  const title = numbered ? findNumberedTitle(db, session, input.title ?? "", session.n) : input.title;
  // No number is free: the title stays.
  if (numbered && title === undefined) return toSession(getSessionRow(db, session.n));
  if (title !== undefined) {
    const holder = findTitleHolder(db, session.owner, title);
    if (holder !== undefined && holder !== session.n) return refuseTakenTitle(title);
  }
  db.send(setTitleSql, title ?? null, session.n);
  return toSession(getSessionRow(db, session.n));
}

/** The title itself if it is free, or else with the next number of its lineage. */
export function findFreeTitle(db: Db, session: Pick<SessionRow, "owner">, title: string): string | undefined {
  return findTitleHolder(db, session.owner, title) === undefined
    ? title
    : findNumberedTitle(db, session, title);
}

/** The next number of the title's lineage among the owner's titles; the title of the session itself does not count. */
function findNumberedTitle(
  db: Db,
  { owner }: Pick<SessionRow, "owner">,
  title: string,
  except = 0,
): string | undefined {
  const titles = db.all<{ title: string }>(otherTitlesSql, owner, except);
  return buildNextTitle(
    title,
    titles.map((row) => row.title),
  );
}

export function change(
  db: Db,
  input: SessionRequest & { change: SessionChange; now: number },
): Session | Refused {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return sessionNotFound;
  const { change: changes, now } = input;
  for (const [column, value] of toColumnChanges(session, changes, now))
    db.send(buildSetSessionColumnSql(column), value, session.n);
  if (changes.ended === false) db.send(reopenSessionSql, session.n);
  return toSession(getSessionRow(db, session.n));
}

function toColumnChanges(
  session: SessionRow,
  { cwd, model, provider, baseUrl, config, archived, ended }: SessionChange,
  now: number,
): [SettableSessionColumn, unknown][] {
  const changed: [SettableSessionColumn, unknown][] = [
    ["cwd", cwd],
    ["model", model],
    ["provider", provider],
    ["base_url", baseUrl],
    ["config", config && JSON.stringify(config)],
    ["archived_at", archived === undefined ? undefined : archived ? (session.archived_at ?? now) : null],
  ];
  if (ended !== undefined && ended !== false) {
    const reason = ended === true ? "closed" : ended;
    changed.push(["ended_at", session.ended_at ?? now], ["end_reason", session.end_reason ?? reason]);
  }
  return changed.filter(([, value]) => value !== undefined);
}

export function recordUsage(db: Db, input: RecordUsage): Session | Refused {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return sessionNotFound;
  const stale = checkFence(session, input.fence);
  if (stale !== undefined) return stale;
  addSessionUsage(db, session, input);
  return toSession(getSessionRow(db, session.n));
}

export function hold(db: Db, input: SessionRequest & { name: string; until: number }): Session | Refused {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return sessionNotFound;
  db.send(upsertHoldSql, session.n, input.name, input.until);
  return toSession(session);
}

export function release(db: Db, input: SessionRequest & { name: string }): boolean {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return false;
  return db.run(deleteHoldSql, session.n, input.name) > 0;
}

function findTitleHolder(db: Db, owner: string, title: string): number | undefined {
  return db.get<{ n: number }>(sessionByTitleSql, owner, title)?.n;
}

function refuseTakenTitle(title: string): Refused {
  return refuse("title_taken", `You have another session called "${title}". Choose another title.`, {
    field: "title",
  });
}
