import type { GuessAttempt, GuessResult } from "../../core/access.ts";
import type { Db } from "./db.ts";
import { deleteGuessSql, guessByNameSql, upsertGuessSql } from "./statements/guesses.ts";

/** The last allowed guess also starts the lock; `clearGuesses` removes it after a correct one. */
export function countGuess(db: Db, { name, maxGuesses, lockMs, now }: GuessAttempt): GuessResult {
  const row = db.get<{ count: number; locked_until: number }>(guessByNameSql, name);
  const isLocked = row !== undefined && row.locked_until > now;
  // A lock that ends later than possible was stored under a clock that was ahead: it has ended.
  if (isLocked && row.locked_until <= now + lockMs) return { allowed: false, until: row.locked_until };
  // An expired lock resets the count.
  const count = row === undefined || row.locked_until > 0 ? 1 : row.count + 1;
  db.send(upsertGuessSql, name, count, count >= maxGuesses ? now + lockMs : 0, now);
  return { allowed: true };
}

export function clearGuesses(db: Db, { name }: { name: string }): void {
  db.send(deleteGuessSql, name);
}
