import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { buildAgentEnvironment } from "../processes/child-environment.ts";
import type { Home } from "./home.ts";
import { getLogFile } from "./log/open-log.ts";

/** Sources run in a clone, built files in the published package; the keeper is of the same sort. */
const KEEPER_FILE = new URL(import.meta.url.endsWith(".ts") ? "./keeper.ts" : "./keeper.js", import.meta.url);

/** Starts the keeper of a home, which outlives us, and gives its pid. If there is one already, the new one ends by itself. */
export function launchKeeper({ folder }: Pick<Home, "folder">): number | undefined {
  if (!existsSync(folder)) return undefined; // it was removed, and is not to be made again
  const log = getLogFile({ folder }, "keeper");
  mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
  // What it says when it cannot even begin goes where it logs to.
  const errors = openSync(log, "a", 0o600);
  try {
    const child = spawn(process.execPath, [fileURLToPath(KEEPER_FILE), folder], {
      cwd: "/",
      detached: true,
      env: buildAgentEnvironment(process.env), // so that it marks its descendants as their ancestor
      stdio: ["ignore", "ignore", errors],
    });
    child.on("error", () => {}); // whoever waits for it says that it did not come
    child.unref();
    return child.pid;
  } finally {
    closeSync(errors);
  }
}
