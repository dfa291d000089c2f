import { type Asker, canSee, isEveryone } from "../../core/owner.ts";
import type { Db } from "./db.ts";
import type { SessionRow } from "./rows.ts";
import { readableSessionSql, sessionByIdSql } from "./statements/sessions.ts";
import { VISIBLE_CONDITIONS } from "./statements/visibility.ts";

/** The session with this id, if the asker may see it. */
export function findVisibleSession(db: Db, asker: Asker, id: string): SessionRow | undefined {
  const row = db.get<SessionRow>(sessionByIdSql, id);
  if (row === undefined || row.removed_at !== null || !isVisible(asker, row)) return undefined;
  return row;
}

/** The columns that a history needs; a history is the most frequent read. */
export type ReadableSessionRow = Pick<
  SessionRow,
  "n" | "id" | "owner" | "audience" | "removed_at" | "next_seq" | "version"
>;

export function findReadableSession(db: Db, asker: Asker, id: string): ReadableSessionRow | undefined {
  const row = db.get<ReadableSessionRow>(readableSessionSql, id);
  if (row === undefined || row.removed_at !== null || !isVisible(asker, row)) return undefined;
  return row;
}

export function isVisible(
  asker: Asker,
  { owner, audience }: Pick<SessionRow, "owner" | "audience">,
): boolean {
  return canSee(asker, audience === null ? { owner } : { owner, audience });
}

/** `canSee` as a condition on a sessions row called `s`, with its values. */
export function buildVisibleCondition(asker: Asker): {
  readonly where: string;
  readonly values: readonly string[];
} {
  if (isEveryone(asker)) return { where: VISIBLE_CONDITIONS.everyone, values: [] };
  if (asker.chat === undefined) return { where: VISIBLE_CONDITIONS.person, values: [asker.person] };
  return { where: VISIBLE_CONDITIONS.chat, values: [asker.chat, asker.person, asker.chat] };
}
