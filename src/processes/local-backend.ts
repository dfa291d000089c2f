import { isAlive } from "../system/process-identity.ts";
import { attachProcess } from "./attach-process.ts";
import type { Backend } from "./backend.ts";
import { listProcessFolders, openProcessFolder } from "./process-folder.ts";
import { startWithPipes } from "./start-with-pipes.ts";
import { loadTerminals, startWithTerminal } from "./start-with-terminal.ts";
import { terminateProcess } from "./terminate-process.ts";

export interface LocalBackendOptions {
  /** Where the files of each process are while it runs; private, and not shared with another keeper. */
  readonly folder: string;
  readonly load?: typeof loadTerminals;
}

/** Programs as processes of this machine, each in a session of its own. */
export function localBackend({ folder, load = loadTerminals }: LocalBackendOptions): Backend {
  return {
    async start(spec, seen) {
      const terminals = spec.pty ? await load() : undefined;
      return terminals === undefined
        ? startWithPipes(folder, spec, seen)
        : startWithTerminal(terminals, folder, spec, seen);
    },
    listAttachable: () => listProcessFolders(folder),
    attach: (spec, seen) => attachProcess(folder, spec, seen),
    removeFiles: (id) => openProcessFolder(folder, id).remove(),
    isAlive,
    terminate: terminateProcess,
  };
}
