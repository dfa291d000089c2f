import type { AccountName, Grant, KnownAccount, Role } from "../../core/access.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import { isOwnersOwn } from "./accounts.ts";
import type { Db } from "./connection.ts";
import * as sql from "./sql.ts";

interface KnownRow {
  alt_id: string | null;
  person: string;
  name: string | null;
  role: "member" | null;
}

/** Asked for every message that arrives: two look-ups by key at most, and nothing is made. */
export function account(db: Db, { platform, userId, altId }: AccountName): KnownAccount | undefined {
  const byAlt = altId === undefined ? undefined : db.get<KnownRow>(sql.knownByAlt, platform, altId);
  let row = byAlt ?? (userId === undefined ? undefined : db.get<KnownRow>(sql.knownByUser, platform, userId));
  // An id that passed from one person to another: the alternative one, which does not, tells them apart.
  if (row !== undefined && altId !== undefined && row.alt_id !== null && row.alt_id !== altId)
    row = undefined;
  if (row === undefined) return isOwnersOwn(platform) ? { person: OWNER, role: "owner" } : undefined;
  const role = roleIn(row.person, row.role);
  return {
    person: row.person,
    ...(role !== undefined && { role }),
    ...(row.name !== null && { name: row.name }),
  };
}

function roleIn(person: PersonId, role: "member" | null): Role | undefined {
  return person === OWNER ? "owner" : (role ?? undefined);
}

/** The owner keeps theirs, and there is nothing to give to nobody. */
export function grant(
  db: Db,
  { person, role, now }: { person: PersonId; role: Exclude<Role, "owner"> | undefined; now: number },
): boolean {
  if (person === OWNER) return false;
  const { changes } = db.run(
    `update people set role_since = case when role is ? then role_since else ? end, role = ? where id = ?`,
    role ?? null,
    role === undefined ? null : now,
    role ?? null,
    person,
  );
  return changes > 0;
}

interface GrantedRow {
  id: string;
  name: string | null;
  created_at: number;
  role: "member" | null;
  role_since: number | null;
}

export function grants(db: Db): Grant[] {
  const people = db.all<GrantedRow>(
    `select * from people where role = 'member' union select * from people where id = '${OWNER}'`,
  );
  return people
    .toSorted((a, b) => sinceOf(a) - sinceOf(b) || (a.id < b.id ? -1 : 1))
    .map((row) => ({
      person: row.id,
      role: roleIn(row.id, row.role) ?? "member",
      ...(row.name !== null && { name: row.name }),
      since: sinceOf(row),
      accounts: db
        .all<NamedAccountRow>("select * from accounts where person = ? order by n", row.id)
        .map(accountName),
    }));
}

function sinceOf({ id, role_since, created_at }: GrantedRow): number {
  return id === OWNER ? created_at : (role_since ?? created_at);
}

export interface NamedAccountRow {
  platform: string;
  user_id: string | null;
  alt_id: string | null;
  name?: string | null;
}

export function accountName({ platform, user_id, alt_id, name }: NamedAccountRow): AccountName {
  return {
    platform,
    ...(user_id !== null && { userId: user_id }),
    ...(alt_id !== null && { altId: alt_id }),
    ...(name !== null && name !== undefined && { name }),
  };
}
