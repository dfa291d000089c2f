import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where everything of one Postrider lives; only its owner may look inside. */
export function openHome(environment: NodeJS.ProcessEnv): {
  readonly folder: string;
  readonly database: string;
} {
  const folder = environment.POSTRIDER_HOME || join(homedir(), ".postrider");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { folder, database: join(folder, "postrider.db") };
}
