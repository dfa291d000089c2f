import { isAlive } from "../system/process-identity.ts";
import { attachProcess } from "./attach-process.ts";
import type { Backend } from "./backend.ts";
import { listProcessFolders, openProcessFolder } from "./process-folder.ts";
import { startWithPipes } from "./start-with-pipes.ts";
import { loadTerminals, startWithTerminal } from "./start-with-terminal.ts";
import { terminateProcess } from "./terminate-process.ts";

export interface LocalBackendOptions {
  /** The folder for the files of running processes; private, and not shared with another keeper. */
  readonly folder: string;
  readonly load?: typeof loadTerminals;
}

/** Runs each command as a process of this machine, in a session of its own. */
export function localBackend({ folder, load = loadTerminals }: LocalBackendOptions): Backend {
  return {
    async start(spec, events) {
      const terminals = spec.pty ? await load() : undefined;
      return terminals === undefined
        ? startWithPipes(folder, spec, events)
        : startWithTerminal(terminals, folder, spec, events);
    },
    listAttachable: () => listProcessFolders(folder),
    attach: (spec, events) => attachProcess(folder, spec, events),
    removeFiles: (id) => openProcessFolder(folder, id).remove(),
    isAlive,
    terminate: terminateProcess,
  };
}
