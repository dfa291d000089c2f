import { PostriderError } from "../../../core/errors.ts";
import { type Asker, isEveryone } from "../../../core/owner.ts";
import { toOneLine } from "../../../core/printable.ts";
import type { Process } from "../../../core/process.ts";
import type { Store } from "../../../ports/store.ts";

/** The process that an argument names: an id, or a beginning that only one has. `proc_` may be left out. */
export async function resolveProcessArgument(store: Store, who: Asker, text: string): Promise<Process> {
  const begun = text.startsWith("proc_") ? text : `proc_${text}`;
  const all = await store.processes.listProcesses({ asker: who, foreground: true, endedSince: 0 });
  const found = text === "" ? [] : all.filter(({ id }) => id.startsWith(begun));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  if (only === undefined) {
    const elsewhere = isEveryone(who) ? "" : "; --everyone looks at other people's too";
    throw new PostriderError(
      "not_found",
      `There is no process "${shown}". postrider processes --all lists what there is${elsewhere}.`,
      { details: { process: text } },
    );
  }
  throw new PostriderError(
    "ambiguous",
    `"${shown}" could be ${found.length} processes. Write more of the id:`,
    {
      details: {
        candidates: found.map(({ id, command }) => ({ id, command: toOneLine(command).slice(0, 80) })),
      },
    },
  );
}
