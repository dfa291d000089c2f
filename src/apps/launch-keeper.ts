import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { buildAgentEnvironment } from "../processes/child-environment.ts";
import type { Home } from "./home.ts";
import { getLogFile } from "./log/open-log.ts";

/** keeper.ts in a clone, keeper.js in the published package. */
const KEEPER_FILE = new URL(import.meta.url.endsWith(".ts") ? "./keeper.ts" : "./keeper.js", import.meta.url);

/** Starts the keeper of a home as a detached process and returns its pid. A second keeper exits by itself. */
export function launchKeeper({ folder }: Pick<Home, "folder">): number | undefined {
  if (!existsSync(folder)) return undefined; // the home was removed; do not create it again
  const log = getLogFile({ folder }, "keeper");
  mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
  // Errors at its start go to its log file.
  const errors = openSync(log, "a", 0o600);
  try {
    const child = spawn(process.execPath, [fileURLToPath(KEEPER_FILE), folder], {
      cwd: "/",
      detached: true,
      // Marks the processes below it as started by an agent. They do not get the address of the store.
      env: buildAgentEnvironment(process.env, ["POSTRIDER_STORE"]),
      stdio: ["ignore", "ignore", errors],
    });
    child.on("error", () => {}); // the caller notices that the keeper does not answer
    child.unref();
    return child.pid;
  } finally {
    closeSync(errors);
  }
}
