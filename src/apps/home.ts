import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The paths of a home. */
export interface Home {
  readonly folder: string;
  readonly database: string;
  /** The daily copies of the database. */
  readonly backups: string;
  /** The reports of imports and erasures. */
  readonly reports: string;
  /** The default workspaces of agents in messengers: beside the home, never in it. */
  readonly workspaces: string;
  /** The files of running processes: output that is not in the database yet, and exit codes. */
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
    // Each home has its own workspaces: only the default name differs in form.
    workspaces: folder === usual ? join(homedir(), "postrider-workspace") : `${folder}.workspace`,
    processes: join(folder, "processes"),
  };
}

// getBuiltinModule instead of an import: see bin/postrider.mjs.
/** Creates the private folder of the home if it is missing. Returns whether it is new. */
export function makeHome({ folder }: Home): boolean {
  return (
    process.getBuiltinModule("node:fs").mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined
  );
}
