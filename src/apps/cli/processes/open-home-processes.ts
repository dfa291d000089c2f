import type { Store } from "../../../ports/store.ts";
import type { Processes } from "../../../processes/processes.ts";
import type { Home } from "../../home.ts";
import type { Io } from "../io.ts";

/** The processes of the home. The keeper is contacted on first use, because ended processes do not need it. */
export function openHomeProcesses(
  home: Home,
  store: Store,
  io: Io,
): { processes(): Promise<Processes>; close(): Promise<void> } {
  let opened: Promise<Processes> | undefined;
  const open = async (): Promise<Processes> => {
    const { connectHomeProcesses } = await import("../../connect-home-processes.ts");
    const { systemClock } = await import("../../../system/system-clock.ts");
    return connectHomeProcesses(home, store, { ...systemClock, now: () => io.now() });
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
