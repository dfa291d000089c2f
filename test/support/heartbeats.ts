import { join } from "node:path";
import Database from "better-sqlite3";

/** Simulates this much time without a heartbeat, after `then`, which runs while no other process writes. */
export function ageHeartbeats(home: string, ms: number, then = (): void => {}): void {
  const db = new Database(join(home, "postrider.db"), { timeout: 5000 });
  db.exec("begin immediate");
  then();
  db.exec(`update runners set heartbeat = heartbeat - ${ms}; update leases set until = until - ${ms}`);
  db.exec("commit");
  db.close();
}
