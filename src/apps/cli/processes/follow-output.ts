import type { Asker } from "../../../core/owner.ts";
import type { Process } from "../../../core/process.ts";
import type { Store } from "../../../ports/store.ts";

/** The next output; `missed` characters before it are no longer stored. */
export interface FollowedOutput {
  readonly text: string;
  readonly missed: number;
}

/** Follows the output of a process from an offset until it ends. Resolves with its final state. */
export async function* followOutput(
  store: Store,
  asker: Asker,
  process: Process,
  from: number,
): AsyncGenerator<FollowedOutput, Process> {
  let wake = (): void => {};
  let changed = false;
  const stop = store.onChange(() => {
    changed = true;
    wake();
  });
  try {
    let known = process;
    let next = from;
    for (;;) {
      changed = false;
      // Reads the row before the output: after an ended row, no output follows.
      known = (await store.processes.getProcess({ asker, id: process.id })) ?? toEnded(known);
      const output = await store.processes.readProcessOutput({ asker, id: process.id, from: next });
      if (output !== undefined && output.text !== "") {
        yield { text: output.text, missed: output.from - next };
        next = output.from + output.text.length;
        continue;
      }
      if (known.status.state === "ended") return known;
      // A change during the read sets the flag again, so no change is missed.
      if (!changed)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    stop();
  }
}

/** The state of a process whose session was deleted: its exit is unknown. */
function toEnded(process: Process): Process {
  if (process.status.state === "ended") return process;
  return { ...process, status: { state: "ended", at: process.begunAt, exit: { unknown: true } } };
}
