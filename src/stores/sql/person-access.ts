import type { Approval } from "../../core/approval.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import type { PersonAccess } from "../../core/person.ts";
import type { HomeChannel } from "../../core/session-context.ts";
import type { Source } from "../../core/source.ts";
import { type ApprovalRow, type ApprovalRuleRow, toApproval } from "./approvals.ts";
import type { Db } from "./db.ts";
import { convertReadable, parseObject } from "./json-columns.ts";
import { buildSenderFilter, listPersonAccounts } from "./person-rows.ts";
import { approvalRulesSql } from "./statements/approvals.ts";

/** The role, requests and rules of a person: one definition for export and for erasure. */
export function readPersonAccess(db: Db, person: PersonId): PersonAccess {
  const row = db.get<{ role: "member" | null }>("select role from people where id = ?", person);
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
  for (const { n } of listPersonPairings(db, person)) db.send("delete from pairings where n = ?", n);
  for (const { number } of listPersonApprovals(db, person))
    db.send("delete from approvals where n = ?", number);
  db.send("delete from allowed where person = ?", person);
  const ids = listPersonAccounts(db, person).flatMap(({ platform, user_id, alt_id }) =>
    [user_id, alt_id].filter((id) => id !== null).map((id) => ({ platform, id })),
  );
  for (const { platform, id } of ids) {
    // The name alone, or after the kind of guess.
    const name = `${platform}:${id}`;
    db.send(
      "delete from guesses where name = ? or substr(name, -length(?)) = ?",
      name,
      `:${name}`,
      `:${name}`,
    );
  }
  for (const { platform, home } of db.all<{ platform: string; home: string }>("select * from homes")) {
    const chatId = parseObject<HomeChannel>(home)?.chatId;
    if (ids.some((account) => account.platform === platform && account.id === chatId))
      db.send("delete from homes where platform = ?", platform);
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
    .all<PersonPairingRow>("select * from pairings order by n")
    .filter((row) => row.person === person || isSentByPerson(row.asker));
}

/** Requests to the person, or because of their messages. */
function listPersonApprovals(db: Db, person: PersonId): Approval[] {
  const isSentByPerson = buildSenderFilter(listPersonAccounts(db, person));
  const rows = db
    .all<ApprovalRow>(
      "select a.*, s.id as session_id from approvals a join sessions s on s.n = a.session order by a.n",
    )
    .filter((row) => row.person === person || isSentByPerson(row.target));
  return convertReadable(rows, toApproval);
}
