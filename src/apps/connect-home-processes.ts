import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { connectProcesses } from "../processes/client.ts";
import type { Processes } from "../processes/processes.ts";
import { resolveSocketPath } from "../processes/socket-path.ts";
import type { Home } from "./home.ts";
import { launchKeeper } from "./launch-keeper.ts";

/** Connects to the processes of a home. The first process starts the keeper. */
export function connectHomeProcesses(home: Pick<Home, "folder">, store: Store, clock: Clock): Processes {
  return connectProcesses({
    store,
    clock,
    socket: resolveSocketPath(home.folder),
    launch: () => launchKeeper(home),
  });
}
