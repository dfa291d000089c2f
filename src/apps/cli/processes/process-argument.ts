import { PostriderError } from "../../../core/errors.ts";
import { type Asker, isEveryone } from "../../../core/owner.ts";
import { toOneLine } from "../../../core/printable.ts";
import type { Process } from "../../../core/process.ts";
import type { Store } from "../../../ports/store.ts";

/** Resolves an argument to a process: an id or an unambiguous prefix of one, with or without `proc_`. */
export async function resolveProcessArgument(store: Store, who: Asker, text: string): Promise<Process> {
  const prefix = text.startsWith("proc_") ? text : `proc_${text}`;
  const all = await store.processes.listProcesses({ asker: who, foreground: true, endedSince: 0 });
  const found = text === "" ? [] : all.filter(({ id }) => id.startsWith(prefix));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  if (only === undefined) {
    const elsewhere = isEveryone(who) ? "" : "; --everyone includes other people's";
    throw new PostriderError(
      "not_found",
      `There is no process "${shown}". postrider processes --all lists all processes${elsewhere}.`,
      { details: { process: text } },
    );
  }
  throw new PostriderError(
    "ambiguous",
    `"${shown}" matches ${found.length} processes. Use a longer prefix of the id:`,
    {
      details: {
        candidates: found.map(({ id, command }) => ({ id, command: toOneLine(command).slice(0, 80) })),
      },
    },
  );
}
