import { text as readAll } from "node:stream/consumers";
import { PostriderError } from "../../../core/errors.ts";
import type { Process } from "../../../core/process.ts";
import type { Store } from "../../../ports/store.ts";
import type { Processes } from "../../../processes/processes.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "../command.ts";
import { printJson, printLine } from "../io.ts";
import { toAsker, withStore } from "../open-home.ts";
import { EVERYONE_PROCESSES_OPTION } from "./list.ts";
import { openHomeProcesses } from "./open-home-processes.ts";
import { resolveProcessArgument } from "./process-argument.ts";
import { formatProcessJson } from "./process-json.ts";
import { formatProcessState } from "./process-text.ts";

export const writeProcessCommand: Command = defineCommand({
  name: "processes write",
  takes: "PROCESS [TEXT]",
  words: [1, 2],
  about: `Writes to the input of a process. TEXT - reads the text from stdin, which keeps a secret out of the shell history.`,
  options: {
    enter: { type: "flag", help: "press Enter after the text" },
    end: { type: "flag", help: "close the input after the text (Ctrl-D)" },
    everyone: EVERYONE_PROCESSES_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider processes write 3f9a yes --enter", "answer a question"],
    ["postrider processes write 3f9a --enter", "only press Enter"],
    ["postrider processes write 3f9a - --end < list.txt", "write a file and close the input"],
  ],
  async run({ words: [name = "", given = ""], values }, io) {
    if (given === "" && !values.enter && !values.end)
      throw usageError("There is nothing to write: add TEXT, --enter or --end", "processes write");
    const text = given === "-" ? await readAll(io.input) : given;
    const who = toAsker(values.everyone);
    const process = await withStore(io, async ({ home, store }) => {
      const found = await resolveProcessArgument(store, who, name);
      if (found.status.state === "ended")
        throw new PostriderError(
          "closed",
          `${found.id} has ended (${formatProcessState(found)}), so it cannot read input.`,
          {
            details: { process: found.id },
          },
        );
      const open = openHomeProcesses(home, store, io);
      try {
        const processes = await open.processes();
        // Enter in a terminal is a carriage return, which the terminal turns into a line feed.
        const typed = values.enter ? text + (found.pty ? "\r" : "\n") : text;
        if (typed !== "") await writeInput(found, typed, processes, store);
        if (values.end) await processes.endInput(found.id);
      } finally {
        await open.close();
      }
      return found;
    });
    if (values.json) printJson(io, { process: formatProcessJson(process), ended_input: values.end });
    else printLine(io, `Written to ${process.id}.`);
  },
});

/** Records the unfinished line, because the agent's next input is classified together with it. */
async function writeInput(
  process: Process,
  typed: string,
  processes: Processes,
  store: Store,
): Promise<void> {
  const { id } = process;
  const { findUnfinished } = await import("../../../tools/process-input.ts");
  const unfinished = findUnfinished(typed, process);
  await store.processes.recordProcessInput({ id });
  await processes.write(id, typed);
  if (unfinished !== undefined) await store.processes.recordProcessInput({ id, unfinished });
}
