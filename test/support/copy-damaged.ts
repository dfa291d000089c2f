import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { look } from "./database.ts";

let copies = 0;

/** A copy of a database, next to it, damaged by this SQL: for checks that must be able to fail. */
export function copyDamaged(file: string, harm: string): string {
  copies += 1;
  const copy = join(dirname(file), `spoiled-${copies}.db`);
  look(file, (db) => db.prepare("vacuum into ?").run(copy));
  const db = new Database(copy);
  try {
    db.exec(harm);
  } finally {
    db.close();
  }
  return copy;
}
