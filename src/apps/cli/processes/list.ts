import type { Asker } from "../../../core/owner.ts";
import { toOneLine } from "../../../core/printable.ts";
import { LISTED_AFTER_END_MS, OUTPUT_KEPT_MS, type Process } from "../../../core/process.ts";
import type { Store } from "../../../ports/store.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "../command.ts";
import { formatRelativeTime } from "../format-time.ts";
import { getOutputWidth, printJson, printLine, printNotice } from "../io.ts";
import { toAsker, withStore } from "../open-home.ts";
import { createStyle } from "../style.ts";
import { type Column, formatTable } from "../table.ts";
import { formatProcessJson } from "./process-json.ts";
import { formatProcessState } from "./process-text.ts";

export const EVERYONE_PROCESSES_OPTION = {
  type: "flag",
  help: "include the processes of all people",
} as const;

export const listProcessesCommand: Command = defineCommand({
  name: "processes",
  takes: "[list]",
  words: [0, 1],
  about: `Lists background processes of your sessions, newest first: those that run, and those that ended in the last half hour.
They continue when the gateway, terminal or editor that started them ends. postrider processes log, kill and write take
an id or an unambiguous prefix of one.`,
  options: {
    all: { type: "flag", help: "include processes that ended in the last 7 days" },
    foreground: { type: "flag", help: "include commands that the agent waits or waited for" },
    everyone: EVERYONE_PROCESSES_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider processes", "list your processes"],
    ["postrider processes --all --everyone", "all processes of the last 7 days in this home"],
    ["postrider processes list --json", "for a script"],
  ],
  async run({ words: [word], values }, io) {
    if (word !== undefined && word !== "list")
      throw usageError(`postrider processes takes list, log, kill or write, not "${word}"`, "processes");
    const now = io.now();
    const who = toAsker(values.everyone);
    const { processes, handles } = await withStore(io, async ({ store }) => {
      const found = await store.processes.listProcesses({
        asker: who,
        endedSince: now - (values.all ? OUTPUT_KEPT_MS : LISTED_AFTER_END_MS),
        foreground: values.foreground,
      });
      return { processes: found, handles: values.json ? new Map() : await findHandles(store, who, found) };
    });
    if (values.json) return printJson(io, { processes: processes.map(formatProcessJson) });
    if (processes.length === 0)
      return printNotice(
        io,
        values.all ? "No process has run in the last 7 days." : "No background process is running.",
      );
    const rows = processes.map((process) => [
      process.id,
      formatProcessState(process),
      toOneLine(process.command),
      handles.get(process.session) ?? "",
      process.target.platform,
      formatRelativeTime(process.begunAt, now),
    ]);
    printLine(io, formatTable(COLUMNS, rows, getOutputWidth(io), createStyle(io).dim).join("\n"));
  },
});

const COLUMNS: readonly Column[] = [
  { heading: "PROCESS" },
  { heading: "STATE" },
  { heading: "COMMAND", least: 12 },
  { heading: "SESSION", leaveOut: 1 },
  { heading: "PLATFORM", leaveOut: 2 },
  { heading: "STARTED", leaveOut: 3 },
];

async function findHandles(
  store: Store,
  who: Asker,
  processes: readonly Process[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(processes.map(({ session }) => session));
  const found = await Promise.all(
    [...ids].map((session) => store.sessions.getSession({ asker: who, session })),
  );
  return new Map(found.flatMap((session) => (session === undefined ? [] : [[session.id, session.handle]])));
}
