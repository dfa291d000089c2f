import { OWNER, type PersonId } from "../../core/owner.ts";
import { buildNextTitle } from "../../core/titles.ts";
import type { Db } from "./db.ts";
import { mergeMemories } from "./memory.ts";
import { personAccountSql } from "./statements/accounts.ts";
import { deletePersonApprovalRulesSql } from "./statements/approvals.ts";
import {
  copyApprovalRulesSql,
  moveApprovalsSql,
  moveConversationsSql,
  movePairingsSql,
  moveRoleSql,
  moveSessionsSql,
  titlesOfBothSql,
} from "./statements/merging.ts";
import { deletePersonSql } from "./statements/people.ts";
import { setTitleSql } from "./statements/sessions.ts";

/** Moves everything of one person to another, unless the first one still has an account. */
export function mergePerson(db: Db, from: PersonId, to: PersonId, now: number): void {
  // The owner uses the terminal without an account.
  if (from === OWNER || db.get(personAccountSql, from) !== undefined) return;
  renameConflictingTitles(db, from, to);
  db.send(moveSessionsSql, to, from);
  db.send(moveConversationsSql, to, from);
  db.send(moveRoleSql, from, to, OWNER);
  db.send(moveApprovalsSql, to, from);
  db.send(movePairingsSql, to, from);
  db.send(copyApprovalRulesSql, to, from);
  db.send(deletePersonApprovalRulesSql, from);
  mergeMemories(db, from, to, now);
  db.send(deletePersonSql, from);
}

/** Titles are unique per owner: a title that both used gets the next number of its lineage. */
function renameConflictingTitles(db: Db, from: PersonId, to: PersonId): void {
  const titled = db.all<{ n: number; owner: string; title: string }>(titlesOfBothSql, from, to);
  const taken = new Set(titled.filter(({ owner }) => owner === to).map(({ title }) => title));
  const all = titled.map(({ title }) => title);
  for (const { n, owner, title } of titled) {
    if (owner !== from || !taken.has(title)) continue;
    const next = buildNextTitle(title, all);
    if (next !== undefined) all.push(next);
    db.send(setTitleSql, next ?? null, n);
  }
}
