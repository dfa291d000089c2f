import { toPrintable } from "../../../core/printable.ts";
import type { Process, ProcessOutput } from "../../../core/process.ts";
import { toReadableOutput } from "../../../tools/readable-output.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, printJson, printNotice } from "../io.ts";
import { toAsker, withStore } from "../open-home.ts";
import { createStyle } from "../style.ts";
import { followOutput } from "./follow-output.ts";
import { EVERYONE_PROCESSES_OPTION } from "./list.ts";
import { resolveProcessArgument } from "./process-argument.ts";
import { formatProcessJson } from "./process-json.ts";
import { formatProcessState } from "./process-text.ts";

export const showProcessLogCommand: Command = defineCommand({
  name: "processes log",
  takes: "PROCESS",
  words: [1, 1],
  about: `Shows the output of a process. Postrider keeps the last 200,000 characters, for 7 days after the end. -f follows the
output and returns when the process ends, with any exit code.`,
  options: {
    follow: { type: "flag", short: "f", help: "follow the output until the process ends, or Ctrl-C" },
    tail: { type: "count", help: "start with the last N lines; 0 for none" },
    everyone: EVERYONE_PROCESSES_OPTION,
    json: { ...JSON_OPTION, help: "print JSON (format: docs/json.md); with -f, at the end" },
  },
  examples: [
    ["postrider processes log proc_3f9a1c02b7de", "show the output"],
    ["postrider processes log 3f9a --tail 20 -f", "show the last 20 lines and follow"],
    ["postrider processes log 3f9a -f --json", "wait for the end and print the result, for a script"],
  ],
  async run({ words: [name = ""], values }, io) {
    const who = toAsker(values.everyone);
    await withStore(io, async ({ store }) => {
      const found = await resolveProcessArgument(store, who, name);
      const before = await store.processes.readProcessOutput({ asker: who, id: found.id });
      const kept = before ?? { text: "", from: 0, total: 0 };
      const first = takeLastLines(kept, values.tail);
      const show = values.json
        ? () => {}
        : (text: string): void => void io.output.write(toOutputText(io, text));
      if (!values.json && first.from > 0 && values.tail === undefined) printMissed(io, first.from);
      show(first.text);
      let now = found;
      if (values.follow) {
        if (!values.json) printDetached(io, found);
        const more = followOutput(store, who, found, kept.from + kept.text.length);
        for (;;) {
          const next = await more.next();
          if (next.done) {
            now = next.value;
            break;
          }
          if (!values.json && next.value.missed > 0) printMissed(io, next.value.missed);
          show(next.value.text);
        }
      }
      if (values.json) {
        const last = values.follow
          ? await store.processes.readProcessOutput({ asker: who, id: found.id })
          : undefined;
        const { text, from, total } = takeLastLines(last ?? kept, values.tail);
        printJson(io, { process: formatProcessJson(now), output: { text, from, total } });
      } else if (values.follow) printNotice(io, createStyle(io).dim(`${now.id}: ${formatProcessState(now)}`));
      else if (kept.total === 0)
        printNotice(io, `${now.id} (${formatProcessState(now)}) has printed nothing.`);
    });
  },
});

/** The last N complete lines of the output. */
function takeLastLines({ text, from, total }: ProcessOutput, count: number | undefined): ProcessOutput {
  if (count === undefined) return { text, from, total };
  let start = text.length;
  for (let left = count; left > 0 && start > 0; left -= 1) {
    // A final line break does not start another line.
    start = start < 2 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  }
  return { text: text.slice(start), from: from + start, total };
}

/** On a terminal, control sequences are removed. In a pipe, the output is unchanged. */
function toOutputText(io: Io, text: string): string {
  return io.output.isTTY ? toPrintable(toReadableOutput(text)) : text;
}

function printMissed(io: Io, count: number): void {
  printNotice(io, createStyle(io).dim(`(${count.toLocaleString("en")} earlier characters are not stored)`));
}

function printDetached(io: Io, { status }: Process): void {
  if (status.state === "running" && status.detached)
    printNotice(
      io,
      "The keeper of this process crashed and its files are gone, so new output cannot be shown.",
    );
}
