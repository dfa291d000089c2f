import { existsSync } from "node:fs";
import { runKeeper } from "../processes/keeper.ts";
import { localBackend } from "../processes/local-backend.ts";
import { resolveSocketPath } from "../processes/socket-path.ts";
import { sqliteStore } from "../stores/sqlite/store.ts";
import { localRunner } from "../system/local-runner.ts";
import { systemClock } from "../system/system-clock.ts";
import { exitOnLostStore } from "./exit-on-lost-store.ts";
import { resolveHome } from "./home.ts";
import { openLog } from "./log/open-log.ts";
import { onShutdownSignals } from "./shutdown-signals.ts";

/*
 * The keeper of one home, a program of its own: node keeper.js HOME. Told to end (SIGTERM, SIGINT), as when the machine goes
 * down, it ends what it looks after first, so that the rows say how each has ended and nothing runs on unseen. Killed
 * without a word, it leaves what runs to the next keeper, which goes on with it.
 */
/** A program has 5 s to end when asked and 5 s when killed; the rows that say how each ended are written after that. */
const STOP_LIMIT_MS = 20_000;
process.title = "postrider keeper";
const [, , folder = ""] = process.argv;
const home = resolveHome({ POSTRIDER_HOME: folder });
if (!existsSync(home.database)) {
  process.stderr.write(`There is no ${home.database}, so there is nothing to look after.\n`);
  process.exit(1);
}
const log = openLog({ home, name: "keeper", level: "info" });
const stop = new AbortController();
onShutdownSignals(() => stop.abort(), {
  signals: ["SIGTERM", "SIGINT"],
  limitMs: STOP_LIMIT_MS,
  repeatForces: false, // the programs that it runs would run on unseen
});
process.on("SIGHUP", () => {}); // a terminal that closes is not its concern
const onLost = exitOnLostStore((text) => log.error({ code: "store_lost" }, text));
const store = await sqliteStore({ file: home.database, mode: "in-process", onLost });
try {
  await runKeeper({
    store,
    runner: localRunner(),
    backend: localBackend({ folder: home.processes }),
    clock: systemClock,
    socket: resolveSocketPath(home.folder),
    log,
    signal: stop.signal,
  });
} catch (error) {
  log.error({ error }, "the keeper has failed");
  process.exitCode = 1;
} finally {
  await store.close();
  log.close();
}
process.exit(); // nobody waits for what a program has left behind
