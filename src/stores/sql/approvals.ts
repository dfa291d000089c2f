import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalRequest,
  type ApprovalRule,
  canBeKept,
} from "../../core/approval.ts";
import { getParticipant } from "../../core/identity.ts";
import { type Asker, getChatAudience, isEveryone, OWNER, type PersonId } from "../../core/owner.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import { getAccount } from "./access.ts";
import type { Db } from "./db.ts";
import { convertReadable, type JsonCell, parseObject, requireObject } from "./json-columns.ts";
import type { ConversationRow } from "./rows.ts";
import {
  answerApprovalSql,
  approvalByNumberSql,
  approvalRuleSql,
  approvalRulesSql,
  deleteApprovalRuleSql,
  deleteOppositeApprovalRuleSql,
  earlierApprovalSql,
  insertApprovalSql,
  openApprovalsSql,
  setApprovalAttemptSql,
  setApprovalDeadlineSql,
  upsertApprovalRuleSql,
} from "./statements/approvals.ts";
import { conversationByNumberSql } from "./statements/conversations.ts";
import { sessionByIdSql } from "./statements/sessions.ts";
import { turnToFinishSql } from "./statements/turns.ts";

export interface ApprovalRow {
  n: number;
  session: number;
  session_id: string;
  conversation: number;
  person: string;
  turn: number;
  attempt: number;
  target: string;
  request: string;
  asked_at: number;
  deadline: number;
  answer: ApprovalAnswer | "expired" | null;
  answered_at: number | null;
  is_put: number;
}

export interface ApprovalRuleRow {
  pattern: string;
  folder: string;
  session: string | null;
  at: number;
  never: number;
}

/** The folder of a `never` rule, and of requests without a folder. */
const ANY_FOLDER = "";

export function createApproval(
  db: Db,
  input: { turn: number; fence: number; request: ApprovalRequest; deadline: number; now: number },
): Approval | Refused {
  const turn = db.get<{
    session: number;
    conversation: number;
    state: string;
    fence: number;
    attempt: number;
    target: string;
  }>(turnToFinishSql, input.turn);
  if (turn === undefined || turn.state !== "running" || turn.fence !== input.fence) {
    return refuse(
      "stale_fence",
      "This turn was finished or taken over by another runner; the approval was not requested.",
    );
  }
  const request = JSON.stringify(input.request);
  const before =
    turn.attempt === 1 ? undefined : adoptEarlierApproval(db, { ...turn, n: input.turn }, request, input.now);
  if (before !== undefined) return toApproval(before);
  const number = db.insert(
    insertApprovalSql,
    turn.session,
    turn.conversation,
    findApprover(
      db,
      turn.conversation,
      requireObject<Source>(turn.target, { table: "turns", column: "target", row: input.turn }),
    ),
    input.turn,
    turn.attempt,
    turn.target,
    request,
    input.now,
    input.deadline,
  );
  return toApproval(getApprovalRow(db, number));
}

/** Takes over the first open or answered request of an earlier attempt with the same text. */
function adoptEarlierApproval(
  db: Db,
  turn: { n: number; session: number; attempt: number },
  request: string,
  now: number,
): ApprovalRow | undefined {
  const { n, session, attempt } = turn;
  const found = db.get<ApprovalRow>(earlierApprovalSql, session, n, attempt, request, now);
  if (found !== undefined) db.send(setApprovalAttemptSql, attempt, found.n);
  return found;
}

/** In a shared conversation, the sender of the turn's last input; the owner if that sender has no name. */
function findApprover(db: Db, conversation: number, target: Source): PersonId {
  const own = db.get<ConversationRow>(conversationByNumberSql, conversation)?.person;
  if (own !== null && own !== undefined) return own;
  const { id, altId } = getParticipant(target) ?? {};
  const known = getAccount(db, {
    platform: target.platform,
    ...(id !== undefined && { userId: id }),
    ...(altId !== undefined && { altId }),
  });
  return known?.person ?? OWNER;
}

export function answerApproval(
  db: Db,
  input: { person: PersonId; approval: number; answer: ApprovalAnswer | "expired"; now: number },
): Approval | Refused {
  const { now } = input;
  const row = findApprovalRow(db, input.approval);
  if (row === undefined) return refuse("not_found", "There is no such question.");
  if (row.person !== input.person)
    return refuse("not_allowed", "Only the person who was asked may answer this.");
  if (row.answer === "expired") return refuseLateAnswer();
  if (row.answer !== null) {
    return refuse("not_allowed", `This was answered already: ${row.answer}.`, {
      answer: row.answer,
      answeredAt: row.answered_at,
    });
  }
  const isLate = now > row.deadline && input.answer !== "expired";
  const answer = isLate ? "expired" : input.answer;
  db.send(answerApprovalSql, answer, now, row.n);
  if (isLate) return refuseLateAnswer();
  saveApprovalRule(db, row, answer, now);
  return toApproval({ ...row, answer, answered_at: now });
}

function saveApprovalRule(
  db: Db,
  { n, request: json, person, session }: ApprovalRow,
  answer: ApprovalAnswer | "expired",
  now: number,
): void {
  const request = requireObject<ApprovalRequest>(json, { table: "approvals", column: "request", row: n });
  const { pattern, folder = ANY_FOLDER } = request;
  if (pattern === undefined) return;
  if (answer === "never") {
    db.send(deleteOppositeApprovalRuleSql, person, pattern, 0);
    db.send(upsertApprovalRuleSql, person, pattern, ANY_FOLDER, 0, now, 1);
  } else if (answer === "always" && canBeKept(request)) {
    db.send(deleteOppositeApprovalRuleSql, person, pattern, 1);
    db.send(upsertApprovalRuleSql, person, pattern, folder, 0, now, 0);
  } else if (answer === "session" && canBeKept(request)) {
    db.send(upsertApprovalRuleSql, person, pattern, folder, session, now, 0);
  }
}

export function moveApprovalDeadline(db: Db, input: { approval: number; deadline: number }): void {
  db.send(setApprovalDeadlineSql, input.deadline, input.approval);
}

function refuseLateAnswer(): Refused {
  return refuse(
    "expired",
    "The answer comes too late: it counted as no. Ask again for what is still wanted.",
    {
      answer: "expired",
    },
  );
}

export function listApprovals(db: Db, input: { person: PersonId; conversation?: number }): Approval[] {
  const rows = db
    .all<ApprovalRow>(openApprovalsSql, input.person)
    .filter(({ conversation }) => input.conversation === undefined || conversation === input.conversation);
  return convertReadable(rows, toApproval);
}

/** Every member of a chat reads the answer there: a request is visible only in the chat where it was made. */
export function getApproval(db: Db, input: { asker: Asker; approval: number }): Approval | undefined {
  const { asker } = input;
  const row = findApprovalRow(db, input.approval);
  if (row === undefined) return undefined;
  if (!isEveryone(asker)) {
    if (row.person !== asker.person) return undefined;
    const askedIn = parseObject<Source>(row.target);
    if (asker.chat !== undefined && (askedIn === undefined || asker.chat !== getChatAudience(askedIn)))
      return undefined;
  }
  return toApproval(row);
}

export function checkApprovalRules(
  db: Db,
  input: { person: PersonId; session: string; pattern: string; folder?: string },
): "allowed" | "never" | undefined {
  const { person, session, pattern, folder = ANY_FOLDER } = input;
  const row = db.get<{ never: number | null }>(approvalRuleSql, person, pattern, folder, session);
  const never = row?.never ?? undefined;
  return never === undefined ? undefined : never === 0 ? "allowed" : "never";
}

export function listApprovalRules(db: Db, { person }: { person: PersonId }): ApprovalRule[] {
  return db.all<ApprovalRuleRow>(approvalRulesSql, person).map(({ pattern, folder, session, at, never }) => ({
    pattern,
    ...(folder !== ANY_FOLDER && { folder }),
    kind: never === 1 ? "never" : "allowed",
    ...(session !== null && { session }),
    at,
  }));
}

export function removeApprovalRule(
  db: Db,
  input: { person: PersonId; pattern: string; folder?: string; session?: string },
): boolean {
  const { person, pattern, folder = ANY_FOLDER, session } = input;
  const scope = session === undefined ? 0 : db.get<{ n: number }>(sessionByIdSql, session)?.n;
  return scope !== undefined && db.run(deleteApprovalRuleSql, person, pattern, folder, scope) > 0;
}

function findApprovalRow(db: Db, n: number): ApprovalRow | undefined {
  return db.get<ApprovalRow>(approvalByNumberSql, n);
}

function getApprovalRow(db: Db, n: number): ApprovalRow {
  const row = findApprovalRow(db, n);
  if (row === undefined) throw new Error(`approval ${n} is missing right after its insert`);
  return row;
}

export function toApproval(row: ApprovalRow): Approval {
  const cell = (column: string): JsonCell => ({ table: "approvals", column, row: row.n });
  return {
    number: row.n,
    session: row.session_id,
    conversation: row.conversation,
    person: row.person,
    target: requireObject<Source>(row.target, cell("target")),
    request: requireObject<ApprovalRequest>(row.request, cell("request")),
    askedAt: row.asked_at,
    deadline: row.deadline,
    ...(row.answer !== null && { answer: row.answer }),
    ...(row.answered_at !== null && { answeredAt: row.answered_at }),
    ...(row.is_put === 1 && { isPosted: true }),
  };
}
