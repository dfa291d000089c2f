import { PostriderError } from "../../../core/errors.ts";
import type { Process } from "../../../core/process.ts";
import type { Processes } from "../../../processes/processes.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { toAsker, withStore } from "../open-home.ts";
import { EVERYONE_PROCESSES_OPTION } from "./list.ts";
import { openHomeProcesses } from "./open-home-processes.ts";
import { resolveProcessArgument } from "./process-argument.ts";
import { formatProcessJson } from "./process-json.ts";
import { formatProcessState } from "./process-text.ts";

export const killProcessesCommand: Command = defineCommand({
  name: "processes kill",
  takes: "PROCESS…",
  words: [1, 64],
  about: `Ends processes with all their child processes, and prints how each ended. A process that has ended before is not an
error.`,
  options: { everyone: EVERYONE_PROCESSES_OPTION, json: JSON_OPTION },
  examples: [
    ["postrider processes kill proc_3f9a1c02b7de", "end a process"],
    ["postrider processes kill 3f9a 77c0", "end two processes, by prefixes of their ids"],
  ],
  async run({ words, values }, io) {
    const who = toAsker(values.everyone);
    const ended = await withStore(io, async ({ home, store }) => {
      const found = new Map<string, Process>();
      for (const name of words) {
        const process = await resolveProcessArgument(store, who, name);
        found.set(process.id, process);
      }
      const open = openHomeProcesses(home, store, io);
      const done: { readonly process: Process; readonly killed: boolean }[] = [];
      try {
        for (const process of found.values()) {
          if (process.status.state === "ended") done.push({ process, killed: false });
          else done.push(await killProcess(await open.processes(), process));
        }
      } finally {
        // Prints the processes that ended even if another one fails.
        if (!values.json)
          for (const { process, killed } of done)
            (killed ? printLine : printNotice)(
              io,
              killed
                ? `${process.id} ended: ${formatProcessState(process)}.`
                : `${process.id} had already ended: ${formatProcessState(process)}.`,
            );
        await open.close();
      }
      return done;
    });
    if (values.json)
      printJson(io, {
        processes: ended.map(({ process, killed }) => ({ ...formatProcessJson(process), killed })),
      });
  },
});

/** The process may have ended by itself in the meantime. */
async function killProcess(processes: Processes, process: Process) {
  const after = await processes.kill(process.id);
  if (after.status.state === "ended") return { process: after, killed: true };
  throw new PostriderError(
    "internal",
    `${process.id} still runs after the kill. Try again: postrider processes kill ${process.id}`,
    { details: { process: process.id } },
  );
}
