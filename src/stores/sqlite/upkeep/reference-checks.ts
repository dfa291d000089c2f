import { createHash } from "node:crypto";
import type { NewMessage, Part } from "../../../core/message.ts";
import { OWNER } from "../../../core/owner.ts";
import { NO_SESSION } from "../../sql/blobs.ts";
import { parseList, parseObject } from "../../sql/json-columns.ts";
import type { SqliteDb } from "../connection.ts";
import { type Finding, formatCount, reportFixable, reportOk, reportWarning } from "./findings.ts";
import { type BlobUse, listBlobUses, type MessageSurvey } from "./message-survey.ts";

const RESTORE_HINT = "Restore a copy that has it with postrider restore.";

export function checkForeignKeys(db: SqliteDb): Finding {
  const rows = db.all<{ table: string }>("pragma foreign_key_check");
  if (rows.length === 0) return reportOk("foreign_keys", "No row refers to a missing row.");
  const tables = [...new Set(rows.map(({ table }) => table))].join(", ");
  return reportFixable(
    "foreign_keys",
    `${formatCount(rows.length, "row")} of ${tables} with a reference to a missing row.`,
  );
}

/** Messages whose session is gone: no view shows them. */
export const ORPHANED_MESSAGES_SQL = `
with recursive spoken(n) as (
  select min(id) >> 24 from messages
  union all select (select min(id) >> 24 from messages where id >= (spoken.n + 1) * 16777216) from spoken
  where spoken.n is not null)
select n from spoken where n is not null and n not in (select n from sessions)`;

export function checkOrphans(db: SqliteDb): Finding {
  const lost = db.all(ORPHANED_MESSAGES_SQL).length;
  if (lost === 0) return reportOk("sessions", "Every message belongs to a session.");
  return reportFixable("sessions", `${formatCount(lost, "session")} missing, although the messages exist.`);
}

/** Pieces of missing sessions. A view with such a piece is unreadable. */
export const DANGLING_PIECES_CONDITION = "piece_session not in (select n from sessions)";
/** Sessions whose current view is missing or does not end with their own next messages. */
export const SESSIONS_WITHOUT_VIEW_SQL = `
select s.n from sessions s where s.version > 0 and s.removed_at is null and not exists (
  select 1 from pieces p join views v on v.session = p.session and v.version = p.version
  where p.session = s.n and p.version = s.version and p.piece_session = s.n and p.to_seq is null)`;

export function checkViews(db: SqliteDb): Finding {
  const dangling =
    db.get<{ n: number }>(`select count(*) as n from pieces where ${DANGLING_PIECES_CONDITION}`)?.n ?? 0;
  const viewless = db.all(SESSIONS_WITHOUT_VIEW_SQL).length;
  if (dangling + viewless > 0) {
    const parts = [
      ...(dangling > 0 ? [`${formatCount(dangling, "piece")} of missing sessions`] : []),
      ...(viewless > 0 ? [`${formatCount(viewless, "session")} without a view`] : []),
    ];
    return reportFixable("views", `The views of sessions are wrong: ${parts.join(", ")}.`);
  }
  const missing = countMissingMessages(db);
  if (missing > 0) {
    return reportWarning(
      "views",
      `The views of sessions contain ${formatCount(missing, "missing message")}.`,
      `They were lost. ${RESTORE_HINT}`,
    );
  }
  return reportOk("views", "All messages in the views of sessions exist.");
}

/** Messages in pieces of sessions that have gaps or are removed. */
function countMissingMessages(db: SqliteDb): number {
  const pieces = db.all<{ n: number; from_seq: number; to_seq: number }>(`
    select distinct piece_session as n, from_seq, to_seq from pieces
    where to_seq >= from_seq and piece_session in (
      select s.n from sessions s where s.removed_at is not null or s.next_seq - 1 <> (
        select count(*) from messages where id between s.n * 16777216 and s.n * 16777216 + 16777215))`);
  return pieces.reduce((sum, { n, from_seq, to_seq }) => {
    const first = n * 16_777_216;
    const found = db.get<{ n: number }>(
      "select count(*) as n from messages where id between ? and ?",
      first + from_seq,
      first + to_seq,
    );
    return sum + (to_seq - from_seq + 1) - (found?.n ?? 0);
  }, 0);
}

export const DANGLING_CONVERSATIONS_SQL = `
select * from conversations where session not in (select n from sessions where removed_at is null)`;

export function checkConversations(db: SqliteDb): Finding {
  const lost = db.all(DANGLING_CONVERSATIONS_SQL).length;
  if (lost === 0) return reportOk("conversations", "Every conversation has its session.");
  return reportFixable("conversations", `${formatCount(lost, "conversation")} without an existing session.`);
}

/** Codes, requests and permissions of missing people or sessions. */
const NO_SUCH_PERSON_CONDITION = `not in (select '${OWNER}' union select id from people)`;
export const DANGLING_ACCESS_CLAUSES: readonly string[] = [
  `from allowed where person ${NO_SUCH_PERSON_CONDITION}`,
  "from allowed where session > 0 and session not in (select n from sessions where removed_at is null)",
  `from approvals where person ${NO_SUCH_PERSON_CONDITION}`,
  `from pairings where person is not null and person ${NO_SUCH_PERSON_CONDITION}`,
];

export function checkAccess(db: SqliteDb): Finding {
  const lost = DANGLING_ACCESS_CLAUSES.reduce(
    (sum, from) => sum + (db.get<{ n: number }>(`select count(*) as n ${from}`)?.n ?? 0),
    0,
  );
  if (lost === 0) return reportOk("access", "Every code, request and permission belongs to a person.");
  return reportFixable(
    "access",
    `${formatCount(lost, "code, request or permission", "codes, requests and permissions")} without a person.`,
  );
}

/** The blobs that messages, the inbox and the outbox need. Another check reports unreadable rows. */
export function listNeededBlobs(db: SqliteDb, ofMessages: readonly BlobUse[]): BlobUse[] {
  const pending = db
    .rows(
      "select c.session, i.message from inbox i join conversations c on c.n = i.conversation where i.state = 0 and i.message is not null",
    )
    .flatMap(([n, json]) => listBlobUses(n as number, parseObject<NewMessage>(json as string)?.parts ?? []));
  const outgoing = db
    .rows(
      "select coalesce(session, ?), parts from deliveries where state in ('waiting', 'sending')",
      NO_SESSION,
    )
    .flatMap(([n, json]) => listBlobUses(n as number, parseList<Part>(json as string) ?? []));
  return [...ofMessages, ...pending, ...outgoing];
}

export function checkBlobs(db: SqliteDb, { blobs }: MessageSurvey, full: boolean): Finding[] {
  const needed = listNeededBlobs(db, blobs);
  const used = new Set(db.rows("select hash, session from blob_uses").map((row) => row.join(" ")));
  const stored = new Set(db.rows("select hash from blobs").map(([hash]) => hash as string));
  const lost = new Set(needed.filter(({ hash }) => !stored.has(hash)).map(({ hash }) => hash));
  const unrecorded = needed.filter(
    ({ hash, session }) => stored.has(hash) && !used.has(`${hash} ${session}`),
  ).length;
  const unused =
    db.get<{ n: number }>(`select count(*) as n from blobs where ${UNUSED_BLOBS_CONDITION}`)?.n ?? 0;
  const findings: Finding[] = [];
  if (lost.size > 0)
    findings.push(
      reportWarning(
        "attachments",
        `The content of ${formatCount(lost.size, "attachment")} is missing.`,
        `They were lost. ${RESTORE_HINT}`,
      ),
    );
  if (full) {
    const altered = countAlteredBlobs(db);
    if (altered > 0)
      findings.push(
        reportWarning(
          "attachments",
          `The content of ${formatCount(altered, "attachment")} has changed.`,
          RESTORE_HINT,
        ),
      );
  }
  if (unrecorded + unused > 0)
    findings.push(
      reportFixable(
        "blob_uses",
        `The uses of attachments are wrong: ${unrecorded} not recorded, ${unused} attachments without a use.`,
      ),
    );
  if (findings.length > 0) return findings;
  return [reportOk("attachments", `${formatCount(stored.size, "attachment")}, all with their uses.`)];
}

export const UNUSED_BLOBS_CONDITION = "hash not in (select hash from blob_uses)";

function countAlteredBlobs(db: SqliteDb): number {
  let altered = 0;
  for (const [hash, bytes] of db.each("select hash, bytes from blobs"))
    if (
      createHash("sha256")
        .update(bytes as Uint8Array)
        .digest("hex") !== hash
    )
      altered += 1;
  return altered;
}
