import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { look } from "../support/database.ts";

/** Something that still runs for a home. */
export interface Left {
  readonly pid: number;
  readonly command: string;
}

/** All that works in one of these folders or was started for it: found by the folder, which is nobody else's. */
export function leftIn(folder: string): readonly Left[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        const cwd = readlinkSync(`/proc/${name}/cwd`);
        // A keeper has another name than it was started by; what it has to say goes into the home.
        const errors = readlinkSync(`/proc/${name}/fd/2`);
        const isOurs = [cwd, errors, ...args].some(
          (path) => path === folder || path.startsWith(`${folder}/`),
        );
        return isOurs ? [{ pid: Number(name), command: args.join(" ").trim() }] : [];
      } catch {
        return []; // gone by now, or somebody else's
      }
    });
}

/** Nothing of it runs when this returns. */
export async function endAllIn(folder: string): Promise<void> {
  for (let rounds = 0; rounds < 200; rounds += 1) {
    const left = leftIn(folder);
    if (left.length === 0) return;
    for (const { pid } of left) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The keeper that looks after the programs of this home now. */
export function keeperOf(database: string): number | undefined {
  try {
    return look(database, (db) => {
      const sql =
        "select r.pid from leases l join runners r on r.id = l.runner where l.name = 'keeper' and l.until > ?";
      return db.prepare(sql).pluck().get(Date.now()) as number | undefined;
    });
  } catch {
    return undefined; // there is no file yet
  }
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // gone by itself
  }
}
