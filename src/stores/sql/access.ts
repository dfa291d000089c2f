import type { AccessRole, AccountName, AccountRole, Grant } from "../../core/access.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import { isOwnerPlatform } from "./accounts.ts";
import type { Db } from "./db.ts";
import { accountsByPersonSql, personByAltIdSql, personByUserIdSql } from "./statements/accounts.ts";
import { grantsSql, setRoleSql } from "./statements/people.ts";

interface AccountPersonRow {
  alt_id: string | null;
  person: string;
  name: string | null;
  role: "member" | null;
}

/** Runs for every inbound message: at most two look-ups by key, and no row is created. */
export function getAccount(db: Db, { platform, userId, altId }: AccountName): AccountRole | undefined {
  const byAlt = altId === undefined ? undefined : db.get<AccountPersonRow>(personByAltIdSql, platform, altId);
  let row =
    byAlt ??
    (userId === undefined ? undefined : db.get<AccountPersonRow>(personByUserIdSql, platform, userId));
  // An id can pass from one person to another; the alternative id cannot, so it distinguishes them.
  if (row !== undefined && altId !== undefined && row.alt_id !== null && row.alt_id !== altId)
    row = undefined;
  if (row === undefined) return isOwnerPlatform(platform) ? { person: OWNER, role: "owner" } : undefined;
  const role = getRole(row.person, row.role);
  return {
    person: row.person,
    ...(role !== undefined && { role }),
    ...(row.name !== null && { name: row.name }),
  };
}

function getRole(person: PersonId, role: "member" | null): AccessRole | undefined {
  return person === OWNER ? "owner" : (role ?? undefined);
}

/** The owner's role never changes, and an unknown person gets none. */
export function setRole(
  db: Db,
  { person, role, now }: { person: PersonId; role: Exclude<AccessRole, "owner"> | undefined; now: number },
): boolean {
  if (person === OWNER) return false;
  const changes = db.run(setRoleSql, role ?? null, role === undefined ? null : now, role ?? null, person);
  return changes > 0;
}

interface GrantRow {
  id: string;
  name: string | null;
  created_at: number;
  role: "member" | null;
  role_since: number | null;
}

export function listGrants(db: Db): Grant[] {
  const people = db.all<GrantRow>(grantsSql);
  return people
    .toSorted((a, b) => getGrantTime(a) - getGrantTime(b) || (a.id < b.id ? -1 : 1))
    .map((row) => ({
      person: row.id,
      role: getRole(row.id, row.role) ?? "member",
      ...(row.name !== null && { name: row.name }),
      since: getGrantTime(row),
      accounts: db.all<NamedAccountRow>(accountsByPersonSql, row.id).map(toAccountName),
    }));
}

function getGrantTime({ id, role_since, created_at }: GrantRow): number {
  return id === OWNER ? created_at : (role_since ?? created_at);
}

export interface NamedAccountRow {
  platform: string;
  user_id: string | null;
  alt_id: string | null;
  name?: string | null;
}

export function toAccountName({ platform, user_id, alt_id, name }: NamedAccountRow): AccountName {
  return {
    platform,
    ...(user_id !== null && { userId: user_id }),
    ...(alt_id !== null && { altId: alt_id }),
    ...(name !== null && name !== undefined && { name }),
  };
}
