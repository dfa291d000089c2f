import type { Backend } from "./backend.ts";
import { isAlive } from "./born.ts";
import { endAll } from "./kill.ts";
import { startWithPipes } from "./start-with-pipes.ts";
import { loadTerminals, startWithTerminal } from "./start-with-terminal.ts";

/** Programs as processes of this machine, each in a session of its own. */
export function localBackend(load: typeof loadTerminals = loadTerminals): Backend {
  return {
    async start(spec, seen) {
      const terminals = spec.pty ? await load() : undefined;
      return terminals === undefined ? startWithPipes(spec, seen) : startWithTerminal(terminals, spec, seen);
    },
    isAlive,
    end: endAll,
  };
}
