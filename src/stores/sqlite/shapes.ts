import type { NewMessage } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import { KEPT_VERSIONS, KEPT_VERSIONS_MS, type Reshape, type Reshaped } from "../../core/reshape.ts";
import type { ForkedSession, Session } from "../../core/session.ts";
import {
  type ClosedPiece,
  compressed,
  cut,
  forked,
  initialView,
  messageAt,
  positionOf,
  restored,
  rewritten,
  type SeqRange,
  shownPieces,
  type ViewState,
  viewLength,
} from "../../core/view.ts";
import type { Ask } from "../../ports/store.ts";
import { insertMessages, staleFence } from "./append.ts";
import type { Db } from "./connection.ts";
import { requireObject } from "./json-columns.ts";
import { createSession, sessionRow } from "./routing.ts";
import { messageId, type SessionRow, toMessage, toSession } from "./rows.ts";
import { alive } from "./runners.ts";
import { freeTitle } from "./sessions.ts";
import * as sql from "./sql.ts";
import { addUsageTo } from "./usage.ts";
import { viewOf } from "./views.ts";
import { ownedSession } from "./visible.ts";

interface VersionRow {
  version: number;
  kind: string;
  at: number;
  next_seq: number;
  redo: number | null;
}

/** What an earlier version showed when it was left. */
export function shownAt(db: Db, session: SessionRow, version: number): readonly ClosedPiece[] | undefined {
  if (version === session.version) return shownPieces(viewOf(db, session));
  const left = seqWhenLeft(db, session, version);
  if (left === undefined || versionRow(db, session, version) === undefined) return undefined;
  return shownPieces(viewOf(db, { n: session.n, next_seq: left, version }));
}

function versionRow(db: Db, session: SessionRow, version: number): VersionRow | undefined {
  return db.get<VersionRow>("select * from views where session = ? and version = ?", session.n, version);
}

/** A version is left by the operation after it, which noted how far the session had grown by then. */
function seqWhenLeft(db: Db, session: SessionRow, version: number): number | undefined {
  return db.get<VersionRow>(
    "select * from views where session = ? and version > ? order by version limit 1",
    session.n,
    version,
  )?.next_seq;
}

export function reshape(db: Db, input: Reshape): Reshaped | Refused {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return refuse("not_found", "There is no such session.");
  const stale = staleFence(session, input.fence);
  if (stale !== undefined) return stale;
  if (
    input.fence === undefined &&
    session.lease_holder !== null &&
    alive(db, session.lease_holder, input.now)
  ) {
    return refuse(
      "session_busy",
      "An answer is being written in this session. Stop it or wait for it first.",
    );
  }
  const state = viewOf(db, session);
  switch (input.kind) {
    case "undo": {
      const keep = lastHuman(db, state);
      if (keep === undefined) return refuse("nothing_to_undo", "There is nothing to undo.");
      return cutTo(db, session, state, keep, input);
    }
    case "rewind": {
      const target = db.get<SessionRow>(sql.sessionById, input.to.session);
      const position = target && positionOf(state, target.n, input.to.seq);
      if (position === undefined) return refuse("not_found", "This session does not show that message.");
      return cutTo(db, session, state, position + 1, input);
    }
    case "redo":
      return redo(db, session, state, input);
    case "restore": {
      const pieces = shownAt(db, session, input.version);
      if (pieces === undefined) return refuse("not_found", `Version ${input.version} is no longer kept.`);
      return save(db, session, state, restored(state, pieces), input);
    }
    case "compress": {
      const keepLast = "replaces" in input ? keptAfter(db, state, input.replaces) : input.keepLast;
      if (keepLast === undefined)
        return refuse("session_busy", "What was to be summed up has changed meanwhile. Try again.");
      if ("replaces" in input && input.usage !== undefined)
        addUsageTo(db, session, { purpose: "compress", usage: input.usage, now: input.now });
      grow(db, session, [input.summary], input);
      return save(db, session, state, compressed(state, keepLast), input);
    }
    case "rewrite": {
      grow(db, session, input.messages, input);
      return save(db, session, state, rewritten(state, input.messages.length), input);
    }
  }
}

export function fork(
  db: Db,
  input: Ask & { newSession: ForkedSession; keep?: number; now: number },
): Session | Refused {
  const origin = ownedSession(db, input.asker, input.session);
  if (origin === undefined) return refuse("not_found", "There is no such session.");
  if (db.get(sql.sessionById, input.newSession.id) !== undefined) {
    return refuse("invalid_input", `There is a session ${input.newSession.id} already.`, { field: "id" });
  }
  const { now } = input;
  const { title: wanted = origin.title ?? undefined, ...rest } = input.newSession;
  const title = wanted === undefined ? undefined : freeTitle(db, origin, wanted);
  const carried = {
    kind: origin.kind,
    ...(origin.cwd !== null && { cwd: origin.cwd }),
    ...(origin.model !== null && { model: origin.model }),
    ...(origin.provider !== null && { provider: origin.provider }),
    ...(origin.base_url !== null && { baseUrl: origin.base_url }),
    ...(origin.config !== null && {
      config: requireObject<Record<string, unknown>>(origin.config, {
        table: "sessions",
        column: "config",
        row: origin.handle,
      }),
    }),
    ...rest,
    ...(title !== undefined && { title }),
  };
  const made = createSession(db, carried, { profile: origin.profile, owner: origin.owner, now }, origin.id);
  db.run(
    "update sessions set audience = ?, platform = ?, origin = ?, display_name = ? where n = ?",
    origin.audience,
    origin.platform,
    origin.origin,
    origin.display_name,
    made.n,
  );
  const view = forked(viewOf(db, origin), made.n, input.keep);
  writeVersion(db, made.n, 1, "fork", view, null, 1, now);
  return toSession(sessionRow(db, made.n));
}

/** Gives a session that was just filled the view it had elsewhere. */
export function showRanges(
  db: Db,
  session: SessionRow,
  shows: readonly SeqRange[],
  hidden: readonly SeqRange[],
  now: number,
): void {
  const whole = viewOf(db, session);
  const view = restored(
    whole,
    shows.map(({ from, to }) => ({ session: session.n, from, to })),
  );
  if (view.pieces.length === 1 && hidden.length === 0 && viewLength(view) === viewLength(whole)) return;
  writeVersion(db, session.n, 1, "import", view, null, session.next_seq, now);
  writeHidden(db, session.n, hidden);
}

function cutTo(db: Db, session: SessionRow, state: ViewState, keep: number, input: Reshape): Reshaped {
  const first = messageAt(state, keep);
  const saved = save(db, session, state, cut(state, keep), input, session.version);
  if (first === undefined) return saved;
  const row = db.rows(
    sql.messagesBetween,
    messageId(first.session, first.seq),
    messageId(first.session, first.seq),
  )[0];
  const said = first.session === session.n ? session.id : sessionRow(db, first.session).id;
  return row === undefined ? saved : { ...saved, firstCut: toMessage(row, said) };
}

/** How many messages follow what a summary was made of; `undefined` when that is no longer what stands there. */
function keptAfter(
  db: Db,
  state: ViewState,
  { count, last }: { count: number; last: { session: string; seq: number } },
): number | undefined {
  const said = db.get<SessionRow>(sql.sessionById, last.session);
  const position = said && positionOf(state, said.n, last.seq);
  return position === count - 1 ? viewLength(state) - count : undefined;
}

/** Goes back to what the last cut replaced. Saying something after it makes that the new course. */
function redo(db: Db, session: SessionRow, state: ViewState, input: Reshape): Reshaped | Refused {
  const nothing = refuse("nothing_to_redo", "There is nothing to redo.");
  const current = versionRow(db, session, session.version);
  if (current === undefined || current.redo === null || current.next_seq !== session.next_seq) return nothing;
  const pieces = shownAt(db, session, current.redo);
  if (pieces === undefined) return nothing;
  const target = versionRow(db, session, current.redo);
  // Something said after that cut has made its own redo void.
  const further = target?.next_seq === seqWhenLeft(db, session, current.redo) ? target?.redo : null;
  return save(db, session, state, restored(state, pieces), input, further ?? undefined);
}

function grow(db: Db, session: SessionRow, messages: readonly NewMessage[], input: Reshape): void {
  const blobs = input.kind === "rewrite" ? input.blobs : undefined;
  const grown = insertMessages(db, session, messages, blobs, input.now);
  db.run(sql.growSession, messages.length, grown.lastAt, grown.humans, grown.toolCalls, session.n);
}

function save(
  db: Db,
  session: SessionRow,
  before: ViewState,
  after: ViewState,
  input: Reshape,
  redoTo?: number,
): Reshaped {
  const { now } = input;
  const version = session.version + 1;
  // The first reshaping also writes down version 0, so that it can be returned to.
  if (session.version === 0)
    writeVersion(db, session.n, 0, "begin", initialView(session.n), null, 1, session.created_at);
  writeVersion(db, session.n, version, input.kind, after, redoTo ?? null, session.next_seq, now);
  writeHidden(db, session.n, after.hidden);
  // A version's age is counted from when it was left, which is when the one after it began.
  db.run(
    `delete from views where session = ? and (version <= ?
       or version < (select max(version) from views where session = ? and at < ?))`,
    session.n,
    version - KEPT_VERSIONS,
    session.n,
    now - KEPT_VERSIONS_MS,
  );
  return { version, length: viewLength(after), before: viewLength(before) };
}

function writeVersion(
  db: Db,
  session: number,
  version: number,
  kind: string,
  view: ViewState,
  redoTo: number | null,
  nextSeq: number,
  now: number,
): void {
  db.run(
    "insert into views (session, version, kind, at, next_seq, redo) values (?, ?, ?, ?, ?, ?)",
    session,
    version,
    kind,
    now,
    nextSeq,
    redoTo,
  );
  view.pieces.forEach((piece, position) => {
    db.run(
      "insert into pieces (session, version, position, piece_session, from_seq, to_seq) values (?, ?, ?, ?, ?, ?)",
      session,
      version,
      position,
      piece.session,
      piece.from,
      piece.to ?? null,
    );
  });
  if (version > 0) db.run("update sessions set version = ? where n = ?", version, session);
}

function writeHidden(db: Db, session: number, hidden: readonly SeqRange[]): void {
  db.run("delete from hidden where session = ?", session);
  for (const { from, to } of hidden) {
    db.run("insert into hidden (session, from_seq, to_seq) values (?, ?, ?)", session, from, to);
  }
}

/** The place of the last human message in the view. */
function lastHuman(db: Db, state: ViewState): number | undefined {
  let end = viewLength(state);
  for (const piece of shownPieces(state).toReversed()) {
    const start = end - (piece.to - piece.from + 1);
    const found = db.get<{ id: number }>(
      `select id from messages where id between ? and ? and role = 0
         and case when json_valid(meta) then coalesce(json_extract(meta, '$.origin.proactive'), 0) else 0 end = 0
       order by id desc limit 1`,
      messageId(piece.session, piece.from),
      messageId(piece.session, piece.to),
    );
    if (found !== undefined) return start + (found.id - messageId(piece.session, piece.from));
    end = start;
  }
  return undefined;
}
