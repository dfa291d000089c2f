import type { NewMessage } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { ForkedSession, Session } from "../../core/session.ts";
import {
  type ClosedPiece,
  compressView,
  countShown,
  createView,
  cutView,
  findMessageAt,
  findPosition,
  forkView,
  listShownPieces,
  restoreView,
  rewriteView,
  type SeqRange,
  type ViewState,
} from "../../core/view.ts";
import {
  KEPT_VERSIONS,
  KEPT_VERSIONS_MS,
  type ViewChange,
  type ViewChangeResult,
} from "../../core/view-change.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import { checkFence, insertMessages } from "./append.ts";
import type { Db } from "./db.ts";
import { requireObject } from "./json-columns.ts";
import { getSessionRow, insertSessionRow } from "./routing.ts";
import { type SessionRow, toMessage, toMessageId, toSession } from "./rows.ts";
import { isRunnerAlive } from "./runners.ts";
import { findFreeTitle } from "./sessions.ts";
import { lastUserMessageSql, messagesBetweenSql } from "./statements/messages.ts";
import { copyOriginSql, growSessionSql, sessionByIdSql, setViewVersionSql } from "./statements/sessions.ts";
import {
  clearHiddenSql,
  deleteOldViewsSql,
  insertHiddenSql,
  insertPieceSql,
  insertViewSql,
  nextViewVersionSql,
  viewVersionSql,
} from "./statements/views.ts";
import { addSessionUsage } from "./usage.ts";
import { readView } from "./views.ts";
import { findVisibleSession } from "./visibility.ts";

interface ViewVersionRow {
  version: number;
  kind: string;
  at: number;
  next_seq: number;
  redo: number | null;
}

/** The pieces that an earlier version showed when it was replaced. */
export function readVersionPieces(
  db: Db,
  session: SessionRow,
  version: number,
): readonly ClosedPiece[] | undefined {
  if (version === session.version) return listShownPieces(readView(db, session));
  const end = findVersionEnd(db, session, version);
  if (end === undefined || findVersionRow(db, session, version) === undefined) return undefined;
  return listShownPieces(readView(db, { n: session.n, next_seq: end, version }));
}

function findVersionRow(db: Db, session: SessionRow, version: number): ViewVersionRow | undefined {
  return db.get<ViewVersionRow>(viewVersionSql, session.n, version);
}

/** The next version ends this one, and recorded the length of the session at that time. */
function findVersionEnd(db: Db, session: SessionRow, version: number): number | undefined {
  return db.get<ViewVersionRow>(nextViewVersionSql, session.n, version)?.next_seq;
}

export function changeView(db: Db, input: ViewChange): ViewChangeResult | Refused {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return refuse("not_found", "There is no such session.");
  const stale = checkFence(session, input.fence);
  if (stale !== undefined) return stale;
  if (
    input.fence === undefined &&
    session.lease_holder !== null &&
    isRunnerAlive(db, session.lease_holder, input.now)
  ) {
    return refuse(
      "session_busy",
      "An answer is being written in this session. Stop it or wait for it first.",
    );
  }
  const state = readView(db, session);
  switch (input.kind) {
    case "undo": {
      const keep = findLastUserPosition(db, state);
      if (keep === undefined) return refuse("nothing_to_undo", "There is nothing to undo.");
      return cutSessionView(db, session, state, keep, input);
    }
    case "rewind": {
      const target = db.get<SessionRow>(sessionByIdSql, input.to.session);
      const position = target && findPosition(state, target.n, input.to.seq);
      if (position === undefined) return refuse("not_found", "This session does not show that message.");
      return cutSessionView(db, session, state, position + 1, input);
    }
    case "redo":
      return redoCut(db, session, state, input);
    case "restore": {
      const pieces = readVersionPieces(db, session, input.version);
      if (pieces === undefined) return refuse("not_found", `Version ${input.version} is no longer kept.`);
      return saveView(db, session, state, restoreView(state, pieces), input);
    }
    case "compress": {
      const keepLast =
        "replaces" in input ? countMessagesAfterSummary(db, state, input.replaces) : input.keepLast;
      if (keepLast === undefined)
        return refuse("session_busy", "The messages to summarize have changed meanwhile. Try again.");
      if ("replaces" in input && input.usage !== undefined)
        addSessionUsage(db, session, { purpose: "compress", usage: input.usage, now: input.now });
      appendMessages(db, session, [input.summary], input);
      return saveView(db, session, state, compressView(state, keepLast), input);
    }
    case "rewrite": {
      appendMessages(db, session, input.messages, input);
      return saveView(db, session, state, rewriteView(state, input.messages.length), input);
    }
  }
}

export function fork(
  db: Db,
  input: SessionRequest & { newSession: ForkedSession; keep?: number; now: number },
): Session | Refused {
  const origin = findVisibleSession(db, input.asker, input.session);
  if (origin === undefined) return refuse("not_found", "There is no such session.");
  if (db.get(sessionByIdSql, input.newSession.id) !== undefined) {
    return refuse("invalid_input", `There is a session ${input.newSession.id} already.`, { field: "id" });
  }
  const { now } = input;
  const { title: requested = origin.title ?? undefined, ...rest } = input.newSession;
  const title = requested === undefined ? undefined : findFreeTitle(db, origin, requested);
  const inherited = {
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
  const created = insertSessionRow(
    db,
    inherited,
    { profile: origin.profile, owner: origin.owner, now },
    origin.id,
  );
  db.send(copyOriginSql, origin.audience, origin.platform, origin.origin, origin.display_name, created.n);
  const view = forkView(readView(db, origin), created.n, input.keep);
  writeVersion(db, created.n, 1, "fork", view, null, 1, now);
  return toSession(getSessionRow(db, created.n));
}

/** Gives an imported session the view that it had elsewhere. */
export function writeImportedView(
  db: Db,
  session: SessionRow,
  shows: readonly SeqRange[],
  hidden: readonly SeqRange[],
  now: number,
): void {
  const whole = readView(db, session);
  const view = restoreView(
    whole,
    shows.map(({ from, to }) => ({ session: session.n, from, to })),
  );
  if (view.pieces.length === 1 && hidden.length === 0 && countShown(view) === countShown(whole)) return;
  writeVersion(db, session.n, 1, "import", view, null, session.next_seq, now);
  writeHidden(db, session.n, hidden);
}

function cutSessionView(
  db: Db,
  session: SessionRow,
  state: ViewState,
  keep: number,
  input: ViewChange,
): ViewChangeResult {
  const first = findMessageAt(state, keep);
  const saved = saveView(db, session, state, cutView(state, keep), input, session.version);
  if (first === undefined) return saved;
  const row = db.rows(
    messagesBetweenSql,
    toMessageId(first.session, first.seq),
    toMessageId(first.session, first.seq),
  )[0];
  const sessionId = first.session === session.n ? session.id : getSessionRow(db, first.session).id;
  return row === undefined ? saved : { ...saved, firstCut: toMessage(row, sessionId) };
}

/** The number of messages after the summarized ones; `undefined` if the view has changed since. */
function countMessagesAfterSummary(
  db: Db,
  state: ViewState,
  { count, last }: { count: number; last: { session: string; seq: number } },
): number | undefined {
  const session = db.get<SessionRow>(sessionByIdSql, last.session);
  const position = session && findPosition(state, session.n, last.seq);
  return position === count - 1 ? countShown(state) - count : undefined;
}

/** Restores the view before the last cut. A new message after the cut makes this impossible. */
function redoCut(
  db: Db,
  session: SessionRow,
  state: ViewState,
  input: ViewChange,
): ViewChangeResult | Refused {
  const refusal = refuse("nothing_to_redo", "There is nothing to redo.");
  const current = findVersionRow(db, session, session.version);
  if (current === undefined || current.redo === null || current.next_seq !== session.next_seq) return refusal;
  const pieces = readVersionPieces(db, session, current.redo);
  if (pieces === undefined) return refusal;
  const target = findVersionRow(db, session, current.redo);
  // A message after that cut has made its own redo invalid.
  const further = target?.next_seq === findVersionEnd(db, session, current.redo) ? target?.redo : null;
  return saveView(db, session, state, restoreView(state, pieces), input, further ?? undefined);
}

function appendMessages(
  db: Db,
  session: SessionRow,
  messages: readonly NewMessage[],
  input: ViewChange,
): void {
  const blobs = input.kind === "rewrite" ? input.blobs : undefined;
  const grown = insertMessages(db, session, messages, blobs, input.now);
  db.send(growSessionSql, messages.length, grown.lastAt, grown.humans, grown.toolCalls, session.n);
}

function saveView(
  db: Db,
  session: SessionRow,
  before: ViewState,
  after: ViewState,
  input: ViewChange,
  redoTo?: number,
): ViewChangeResult {
  const { now } = input;
  const version = session.version + 1;
  // The first change also writes version 0, so that it can be restored.
  if (session.version === 0)
    writeVersion(db, session.n, 0, "begin", createView(session.n), null, 1, session.created_at);
  writeVersion(db, session.n, version, input.kind, after, redoTo ?? null, session.next_seq, now);
  writeHidden(db, session.n, after.hidden);
  db.send(deleteOldViewsSql, session.n, version - KEPT_VERSIONS, session.n, now - KEPT_VERSIONS_MS);
  return { version, length: countShown(after), before: countShown(before) };
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
  db.send(insertViewSql, session, version, kind, now, nextSeq, redoTo);
  view.pieces.forEach((piece, position) => {
    db.send(insertPieceSql, session, version, position, piece.session, piece.from, piece.to ?? null);
  });
  if (version > 0) db.send(setViewVersionSql, version, session);
}

function writeHidden(db: Db, session: number, hidden: readonly SeqRange[]): void {
  db.send(clearHiddenSql, session);
  for (const { from, to } of hidden) db.send(insertHiddenSql, session, from, to);
}

/** The position of the last human message in the view. */
function findLastUserPosition(db: Db, state: ViewState): number | undefined {
  let end = countShown(state);
  for (const piece of listShownPieces(state).toReversed()) {
    const start = end - (piece.to - piece.from + 1);
    const found = db.get<{ id: number }>(
      lastUserMessageSql,
      toMessageId(piece.session, piece.from),
      toMessageId(piece.session, piece.to),
    );
    if (found !== undefined) return start + (found.id - toMessageId(piece.session, piece.from));
    end = start;
  }
  return undefined;
}
