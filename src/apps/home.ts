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
}

export function homeOf(environment: NodeJS.ProcessEnv): Home {
  const folder = resolve(environment.POSTRIDER_HOME || join(homedir(), ".postrider"));
  return {
    folder,
    database: join(folder, "postrider.db"),
    backups: join(folder, "backups"),
    reports: join(folder, "reports"),
  };
}

// The module is asked for, not imported: see bin/postrider.mjs.
/** Makes the home if it is not there; only its owner may look inside. Tells whether it is new. */
export function makeHome({ folder }: Home): boolean {
  return (
    process.getBuiltinModule("node:fs").mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined
  );
}
