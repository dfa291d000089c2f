import type { Store } from "../../../ports/store.ts";
import type { Processes } from "../../../processes/processes.ts";
import type { Home } from "../../home.ts";
import type { Io } from "../io.ts";

/** The home's processes, reached when they are first needed: what has ended needs no keeper to be started. */
export function openHomeProcesses(
  home: Home,
  store: Store,
  io: Io,
): { processes(): Promise<Processes>; close(): Promise<void> } {
  let opened: Promise<Processes> | undefined;
  const open = async (): Promise<Processes> => {
    const { connectHomeProcesses: processesOf } = await import("../../connect-home-processes.ts");
    const { systemClock } = await import("../../../system/system-clock.ts");
    return processesOf(home, store, { ...systemClock, now: () => io.now() });
  };
  return {
    processes() {
      opened ??= open();
      return opened;
    },
    async close() {
      await (await opened)?.close();
    },
  };
}
