import { OWNER, type PersonId } from "../../core/owner.ts";
import { buildNextTitle } from "../../core/titles.ts";
import type { Db } from "./db.ts";
import { mergeMemories } from "./memory.ts";

/** Moves everything of one person to another, unless the first one still has an account. */
export function mergePerson(db: Db, from: PersonId, to: PersonId, now: number): void {
  // The owner uses the terminal without an account.
  if (from === OWNER || db.get("select 1 from accounts where person = ?", from) !== undefined) return;
  renameConflictingTitles(db, from, to);
  db.send("update sessions set owner = ? where owner = ?", to, from);
  db.send("update conversations set person = ? where person = ?", to, from);
  db.send(
    `update people set (role, role_since) = (select role, role_since from people where id = ?)
     where id = ? and role is null and id <> ?`,
    from,
    to,
    OWNER,
  );
  db.send("update approvals set person = ? where person = ?", to, from);
  db.send("update pairings set person = ? where person = ?", to, from);
  // Of two rules for one pattern, the later one counts; at the same time, the denial.
  db.send(
    `insert into allowed (person, pattern, folder, session, at, never)
     select ?, pattern, folder, session, at, never from allowed where person = ?
     on conflict (person, pattern, folder, session) do update set at = excluded.at, never = excluded.never
     where (excluded.at, excluded.never) > (allowed.at, allowed.never)`,
    to,
    from,
  );
  db.send("delete from allowed where person = ?", from);
  mergeMemories(db, from, to, now);
  db.send("delete from people where id = ?", from);
}

/** Titles are unique per owner: a title that both used gets the next number of its lineage. */
function renameConflictingTitles(db: Db, from: PersonId, to: PersonId): void {
  const titled = db.all<{ n: number; owner: string; title: string }>(
    "select n, owner, title from sessions where owner in (?, ?) and title is not null order by n",
    from,
    to,
  );
  const taken = new Set(titled.filter(({ owner }) => owner === to).map(({ title }) => title));
  const all = titled.map(({ title }) => title);
  for (const { n, owner, title } of titled) {
    if (owner !== from || !taken.has(title)) continue;
    const next = buildNextTitle(title, all);
    if (next !== undefined) all.push(next);
    db.send("update sessions set title = ? where n = ?", next ?? null, n);
  }
}
