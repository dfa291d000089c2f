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
  about: `What a process has printed, as far as it is kept: the last 200,000 characters, for 7 days after its end. -f goes on
with what it prints and returns when it has ended, whatever its exit code is.`,
  options: {
    follow: { type: "flag", short: "f", help: "go on until it ends, or Ctrl-C" },
    tail: { type: "count", help: "begin with its last N lines; 0 for none" },
    everyone: EVERYONE_PROCESSES_OPTION,
    json: { ...JSON_OPTION, help: "print JSON (docs/json.md); with -f when it has ended" },
  },
  examples: [
    ["postrider processes log proc_3f9a1c02b7de", "what it printed"],
    ["postrider processes log 3f9a --tail 20 -f", "the last lines, and what comes"],
    ["postrider processes log 3f9a -f --json", "wait for its end; how it ended, for a script"],
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

/** The end of what is kept, from the beginning of a line on. */
function takeLastLines({ text, from, total }: ProcessOutput, count: number | undefined): ProcessOutput {
  if (count === undefined) return { text, from, total };
  let start = text.length;
  for (let left = count; left > 0 && start > 0; left -= 1) {
    // The line break that ends the last line does not begin another.
    start = start < 2 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  }
  return { text: text.slice(start), from: from + start, total };
}

/** A program in somebody's terminal could do anything with it; in a pipe everything is as it was printed. */
function toOutputText(io: Io, text: string): string {
  return io.output.isTTY ? toPrintable(toReadableOutput(text)) : text;
}

function printMissed(io: Io, count: number): void {
  printNotice(io, createStyle(io).dim(`(${count.toLocaleString("en")} characters before this are not kept)`));
}

function printDetached(io: Io, { status }: Process): void {
  if (status.state === "running" && status.detached)
    printNotice(io, "Its keeper crashed and its files are gone: what it prints now cannot be seen.");
}
