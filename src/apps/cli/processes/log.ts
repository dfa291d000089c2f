import { printable } from "../../../core/printable.ts";
import type { Process, ProcessOutput } from "../../../core/process.ts";
import { readable } from "../../../tools/output.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, note, sayJson } from "../io.ts";
import { asker, withStore } from "../opening.ts";
import { styleOf } from "../style.ts";
import { followOutput } from "./follow-output.ts";
import { processJson } from "./json.ts";
import { PROCESSES_OF_EVERYONE } from "./list.ts";
import { processArgument } from "./process-argument.ts";
import { stateText } from "./words.ts";

export const log: Command = defineCommand({
  name: "processes log",
  takes: "PROCESS",
  words: [1, 1],
  about: `What a process has printed, as far as it is kept: the last 200,000 characters, for 7 days after its end. -f goes on
with what it prints and returns when it has ended, whatever its exit code is.`,
  options: {
    follow: { type: "flag", short: "f", help: "go on until it ends, or Ctrl-C" },
    tail: { type: "count", help: "begin with its last N lines; 0 for none" },
    everyone: PROCESSES_OF_EVERYONE,
    json: { ...JSON_OPTION, help: "print JSON (docs/json.md); with -f when it has ended" },
  },
  examples: [
    ["postrider processes log proc_3f9a1c02b7de", "what it printed"],
    ["postrider processes log 3f9a --tail 20 -f", "the last lines, and what comes"],
    ["postrider processes log 3f9a -f --json", "wait for its end; how it ended, for a script"],
  ],
  async run({ words: [name = ""], values }, io) {
    const who = asker(values.everyone);
    await withStore(io, async ({ store }) => {
      const found = await processArgument(store, who, name);
      const before = await store.processOutput({ asker: who, id: found.id });
      const kept = before ?? { text: "", from: 0, total: 0 };
      const first = lastLines(kept, values.tail);
      const show = values.json ? () => {} : (text: string): void => void io.output.write(shown(io, text));
      if (!values.json && first.from > 0 && values.tail === undefined) noteMissed(io, first.from);
      show(first.text);
      let now = found;
      if (values.follow) {
        if (!values.json) tellDetached(io, found);
        const more = followOutput(store, who, found, kept.from + kept.text.length);
        for (;;) {
          const next = await more.next();
          if (next.done) {
            now = next.value;
            break;
          }
          if (!values.json && next.value.missed > 0) noteMissed(io, next.value.missed);
          show(next.value.text);
        }
      }
      if (values.json) {
        const last = values.follow ? await store.processOutput({ asker: who, id: found.id }) : undefined;
        const { text, from, total } = lastLines(last ?? kept, values.tail);
        sayJson(io, { process: processJson(now), output: { text, from, total } });
      } else if (values.follow) note(io, styleOf(io).dim(`${now.id}: ${stateText(now)}`));
      else if (kept.total === 0) note(io, `${now.id} (${stateText(now)}) has printed nothing.`);
    });
  },
});

/** The end of what is kept, from the beginning of a line on. */
function lastLines({ text, from, total }: ProcessOutput, count: number | undefined): ProcessOutput {
  if (count === undefined) return { text, from, total };
  let start = text.length;
  for (let left = count; left > 0 && start > 0; left -= 1) {
    // The line break that ends the last line does not begin another.
    start = start < 2 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  }
  return { text: text.slice(start), from: from + start, total };
}

/** A program in somebody's terminal could do anything with it; in a pipe everything is as it was printed. */
function shown(io: Io, text: string): string {
  return io.output.isTTY ? printable(readable(text)) : text;
}

function noteMissed(io: Io, count: number): void {
  note(io, styleOf(io).dim(`(${count.toLocaleString("en")} characters before this are not kept)`));
}

function tellDetached(io: Io, { status }: Process): void {
  if (status.state === "running" && status.detached)
    note(io, "Its keeper crashed and its files are gone: what it prints now cannot be seen.");
}
