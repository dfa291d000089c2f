import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { look } from "../support/database.ts";

/** A process that still runs for a home. */
export interface Left {
  readonly pid: number;
  readonly command: string;
}

/** All processes that work in one of these folders or were started for it. The folders are unique. */
export function findLeftovers(folder: string): readonly Left[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        const cwd = readlinkSync(`/proc/${name}/cwd`);
        // A keeper changes its process name; its stderr is a file in the home.
        const errors = readlinkSync(`/proc/${name}/fd/2`);
        const isOurs = [cwd, errors, ...args].some(
          (path) => path === folder || path.startsWith(`${folder}/`),
        );
        return isOurs ? [{ pid: Number(name), command: args.join(" ").trim() }] : [];
      } catch {
        return []; // has ended, or is of another user
      }
    });
}

/** Returns when none of these processes runs. */
export async function endAllIn(folder: string): Promise<void> {
  for (let rounds = 0; rounds < 200; rounds += 1) {
    const left = findLeftovers(folder);
    if (left.length === 0) return;
    for (const { pid } of left) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The current keeper of the processes of this home. */
export function keeperOf(database: string): number | undefined {
  try {
    return look(database, (db) => {
      const sql =
        "select r.pid from leases l join runners r on r.id = l.runner where l.name = 'keeper' and l.until > ?";
      return db.prepare(sql).pluck().get(Date.now()) as number | undefined;
    });
  } catch {
    return undefined; // the file does not exist yet
  }
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // has already ended
  }
}
