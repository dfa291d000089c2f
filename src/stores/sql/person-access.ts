import type { Approval } from "../../core/approval.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import type { PersonAccess } from "../../core/person.ts";
import type { HomeChannel } from "../../core/session-context.ts";
import type { Source } from "../../core/source.ts";
import { type ApprovalRow, type ApprovalRuleRow, toApproval } from "./approvals.ts";
import type { Db } from "./db.ts";
import { convertReadable, parseObject } from "./json-columns.ts";
import { buildSenderFilter, listPersonAccounts } from "./person-rows.ts";
import { allApprovalsSql, approvalRulesSql, deletePersonApprovalRulesSql } from "./statements/approvals.ts";
import { deleteApprovalSql } from "./statements/deletions.ts";
import { deleteGuessSql, guessNamesSql } from "./statements/guesses.ts";
import { deleteHomeSql, homesSql } from "./statements/homes.ts";
import { deletePairingSql, pairingsSql } from "./statements/pairings.ts";
import { personByIdSql } from "./statements/people.ts";

/** The role, requests and rules of a person: one definition for export and for erasure. */
export function readPersonAccess(db: Db, person: PersonId): PersonAccess {
  const row = db.get<{ role: "member" | null }>(personByIdSql, person);
  const role = person === OWNER ? "owner" : row?.role;
  return {
    ...(role !== null && role !== undefined && { role }),
    // Without salt and hash, which verify the code: it is a secret of its receiver.
    pairings: listPersonPairings(db, person).map((row) => {
      const asker = parseObject<Source>(row.asker);
      return {
        platform: row.platform,
        ...(asker !== undefined && { asker }),
        askedAt: row.asked_at,
        expiresAt: row.expires_at,
      };
    }),
    approvals: listPersonApprovals(db, person),
    allowed: db
      .all<ApprovalRuleRow>(approvalRulesSql, person)
      .map(({ pattern, folder, session, at, never }) => ({
        pattern,
        at,
        ...(folder !== "" && { folder }),
        ...(session !== null && { session }),
        ...(never === 1 && { never: true as const }),
      })),
  };
}

export function erasePersonAccess(db: Db, person: PersonId): void {
  for (const { n } of listPersonPairings(db, person)) db.send(deletePairingSql, n);
  for (const { number } of listPersonApprovals(db, person)) db.send(deleteApprovalSql, number);
  db.send(deletePersonApprovalRulesSql, person);
  const ids = listPersonAccounts(db, person).flatMap(({ platform, user_id, alt_id }) =>
    [user_id, alt_id].filter((id) => id !== null).map((id) => ({ platform, id })),
  );
  const guessers = ids.map(({ platform, id }) => `${platform}:${id}`);
  for (const { name } of db.all<{ name: string }>(guessNamesSql)) {
    // The name alone, or after the kind of guess.
    if (guessers.some((guesser) => name === guesser || name.endsWith(`:${guesser}`)))
      db.send(deleteGuessSql, name);
  }
  for (const { platform, home } of db.all<{ platform: string; home: string }>(homesSql)) {
    const chatId = parseObject<HomeChannel>(home)?.chatId;
    if (ids.some((account) => account.platform === platform && account.id === chatId))
      db.send(deleteHomeSql, platform);
  }
}

interface PersonPairingRow {
  n: number;
  platform: string;
  asker: string | null;
  person: string | null;
  asked_at: number;
  expires_at: number;
}

function listPersonPairings(db: Db, person: PersonId): PersonPairingRow[] {
  const isSentByPerson = buildSenderFilter(listPersonAccounts(db, person));
  return db
    .all<PersonPairingRow>(pairingsSql)
    .filter((row) => row.person === person || isSentByPerson(row.asker));
}

/** Requests to the person, or because of their messages. */
function listPersonApprovals(db: Db, person: PersonId): Approval[] {
  const isSentByPerson = buildSenderFilter(listPersonAccounts(db, person));
  const rows = db
    .all<ApprovalRow>(allApprovalsSql)
    .filter((row) => row.person === person || isSentByPerson(row.target));
  return convertReadable(rows, toApproval);
}
