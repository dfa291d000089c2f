import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Driver, drive } from "./acp-driver.ts";
import { builtPackage } from "./start-up.ts";
import { folder } from "./subjects.ts";

let homes = 0;
export function newHome(configuration?: string): string {
  homes += 1;
  const home = join(folder, `editor-${homes}`);
  mkdirSync(home, { mode: 0o700 });
  if (configuration !== undefined) writeFileSync(join(home, "config.yaml"), configuration, { mode: 0o600 });
  return home;
}

/** As an editor starts it, from the built package. */
export function postrider(home: string, agent = "echo"): Driver {
  return drive([builtPackage(), "acp", "--agent", agent], { POSTRIDER_HOME: home });
}
