import type { Asker } from "../../../core/owner.ts";
import type { Process } from "../../../core/process.ts";
import type { Store } from "../../../ports/store.ts";

/** What was printed next; `missed` characters before it are no longer kept. */
export interface FollowedOutput {
  readonly text: string;
  readonly missed: number;
}

/** Everything that a process prints from a place on, until it has ended. Gives back how it is then. */
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
      // The row before the output: once it says that all is over, nothing comes after what is read then.
      known = (await store.processes.getProcess({ asker, id: process.id })) ?? toEnded(known);
      const output = await store.processes.readProcessOutput({ asker, id: process.id, from: next });
      if (output !== undefined && output.text !== "") {
        yield { text: output.text, missed: output.from - next };
        next = output.from + output.text.length;
        continue;
      }
      if (known.status.state === "ended") return known;
      // A change during the read has set the flag again; waiting then would sleep through it.
      if (!changed)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    stop();
  }
}

/** Its session was removed, and with it every trace of how it ended. */
function toEnded(process: Process): Process {
  if (process.status.state === "ended") return process;
  return { ...process, status: { state: "ended", at: process.begunAt, exit: { unknown: true } } };
}
