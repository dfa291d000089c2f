import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { KEEPER_LEASE, runKeeper } from "../processes/keeper.ts";
import { localBackend } from "../processes/local-backend.ts";
import { resolveSocketPath } from "../processes/socket-path.ts";
import { localRunner } from "../system/local-runner.ts";
import { systemClock } from "../system/system-clock.ts";
import { exitOnLostStore } from "./exit-on-lost-store.ts";
import { resolveHome } from "./home.ts";
import { openLog } from "./log/open-log.ts";
import { findStoreAddress, openHomeStore } from "./open-store.ts";
import { onShutdownSignals } from "./shutdown-signals.ts";

/** A process has 5 s after SIGTERM and 5 s after SIGKILL; then the keeper records how it ended. */
const STOP_LIMIT_MS = 20_000;

/**
 * Runs the process keeper of a home until it is stopped. On SIGTERM or SIGINT it ends its processes first and records how
 * each ended. After SIGKILL its processes continue, and the next keeper takes over.
 */
export async function keepHome(folder: string): Promise<never> {
  process.title = "postrider keeper";
  const home = resolveHome({ POSTRIDER_HOME: folder });
  const address = await findStoreAddress(home, process.env);
  if (address.kind === "sqlite" && !existsSync(address.file)) {
    process.stderr.write(`${address.file} does not exist, so the keeper has no processes.\n`);
    process.exit(1);
  }
  const log = openLog({ home, name: "keeper", level: "info" });
  const stop = new AbortController();
  onShutdownSignals(() => stop.abort(), {
    signals: ["SIGTERM", "SIGINT"],
    limitMs: STOP_LIMIT_MS,
    repeatForces: false, // its processes would continue without a keeper
  });
  process.on("SIGHUP", () => {}); // the end of a terminal does not stop the keeper
  const onLost = exitOnLostStore((text) => log.error({ code: "store_lost" }, text));
  const store = await openHomeStore({ home, environment: process.env, mode: "in-process", onLost });
  try {
    await runKeeper({
      store,
      runner: localRunner(),
      backend: localBackend({ folder: home.processes }),
      clock: systemClock,
      socket: resolveSocketPath(home.folder),
      log,
      ...(address.kind === "postgres" && { lease: `${KEEPER_LEASE}:${hostname()}:${home.folder}` }),
      signal: stop.signal,
    });
  } catch (error) {
    log.error({ error }, "the keeper has failed");
    process.exitCode = 1;
  } finally {
    await store.close();
    log.close();
  }
  process.exit(); // open handles of ended processes must not delay the exit
}
