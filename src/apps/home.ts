import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Where everything of one Postrider lives. */
export interface Home {
  readonly folder: string;
  readonly database: string;
  /** The daily copies of the database. */
  readonly backups: string;
  /** What imports and erasures leave behind for people to read. */
  readonly reports: string;
  /** Where agents work in messengers, unless configured: beside the home, never in it. */
  readonly workspaces: string;
  /** The files of processes that run: output that is not in their rows yet, and how they ended. */
  readonly processes: string;
}

export function resolveHome(environment: NodeJS.ProcessEnv): Home {
  const usual = join(homedir(), ".postrider");
  const folder = resolve(environment.POSTRIDER_HOME || usual);
  return {
    folder,
    database: join(folder, "postrider.db"),
    backups: join(folder, "backups"),
    reports: join(folder, "reports"),
    // No two homes share one: the usual name ends otherwise than all others.
    workspaces: folder === usual ? join(homedir(), "postrider-workspace") : `${folder}.workspace`,
    processes: join(folder, "processes"),
  };
}

// The module is asked for, not imported: see bin/postrider.mjs.
/** Makes the home if it is not there; only its owner may look inside. Tells whether it is new. */
export function makeHome({ folder }: Home): boolean {
  return (
    process.getBuiltinModule("node:fs").mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined
  );
}
