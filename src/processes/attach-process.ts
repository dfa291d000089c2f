import { statSync } from "node:fs";
import type { AttachSpec, ProcessEvents, RunningProcess } from "./backend.ts";
import { readKeptSecrets } from "./kept-secrets.ts";
import { openProcessFolder } from "./process-folder.ts";
import { openRunningProcess } from "./running-process.ts";

/** Continues a process that an earlier keeper started, from the files in its folder. */
export function attachProcess(
  root: string,
  spec: AttachSpec,
  events: ProcessEvents,
): RunningProcess | undefined {
  const folder = openProcessFolder(root, spec.id);
  if (statSync(folder.path, { throwIfNoEntry: false }) === undefined) return undefined;
  const { id, pid, startTime, pty, from } = spec;
  return openRunningProcess({
    process: { id, pid, startTime },
    folder,
    pty,
    from,
    secrets: readKeptSecrets(folder),
    events,
  });
}
