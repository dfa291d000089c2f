import { PostriderError } from "../core/errors.ts";
import { fenceCode } from "../core/fence.ts";
import { pluralize } from "../core/pluralize.ts";
import { isProcessId, LISTED_AFTER_END_MS, type Process } from "../core/process.ts";
import { describeExit, formatCommand, formatDuration } from "../core/process-report.ts";
import { readProcessTail } from "../turns/process-output.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type Choice,
  escapeMarkdown,
  formatTimeUntil,
  shortenLine,
} from "./command.ts";

const MAX_LISTED = 20;
/** The length of a log in a chat. */
const LOG_CHARACTERS = 3000;
/** Enough for the last line that is not empty. */
const LAST_LINE_CHARACTERS = 2000;

export const processesChatCommand: ChatCommand = {
  name: "processes",
  aliases: ["ps"],
  parameters: "[log ID | kill ID]",
  summary: "list your background processes, show the output of one, or end it",
  async run(context, args) {
    const [, verb = "", id = ""] = /^(\S*)\s*(.*)$/s.exec(args.trim()) ?? [];
    if (verb === "" || verb === "list") return formatList(context);
    if (verb === "log") return { text: await formatLog(context, await findProcess(context, id)) };
    if (verb === "kill") return { text: await kill(context, await findProcess(context, id)) };
    throw new PostriderError(
      "invalid_input",
      "Write /processes for the list, /processes log ID for what one printed, or /processes kill ID to end it.",
    );
  },
  async complete(context, begun) {
    const all = (await findListed(context)).flatMap((process) => [
      buildChoice(context, "log", process),
      ...(isRunning(process) ? [buildChoice(context, "kill", process)] : []),
    ]);
    return all.filter(({ line }) => line.includes(begun.trim()));
  },
};

/** The number of running processes of this conversation. */
export async function countRunningProcesses(
  { store, who }: ChatCommandContext,
  conversation: number,
): Promise<number> {
  return (await store.processes.listProcesses({ asker: who, conversation })).filter(isRunning).length;
}

/** `2 background processes run`. */
export function formatRunningProcesses(count: number): string {
  return `${pluralize(count, "background process", "background processes")} ${count === 1 ? "runs" : "run"}`;
}

async function formatList(
  context: ChatCommandContext,
): Promise<{ text: string; choices?: readonly Choice[] }> {
  const found = await findListed(context);
  if (found.length === 0) return { text: "Nothing runs in the background here." };
  const rows = await Promise.all(found.map((process) => formatRow(context, process)));
  const running = found.filter(isRunning);
  const choices =
    context.processes === undefined ? [] : running.map((one) => buildChoice(context, "kill", one));
  const more = "`/processes log ID` shows what one printed, `/processes kill ID` ends it.";
  return { text: `${rows.join("\n")}\n\n${more}`, ...(choices.length > 0 && { choices }) };
}

/** The processes of the asker; in a chat with others, those that were started there. */
function findListed({ store, who, now }: ChatCommandContext): Promise<readonly Process[]> {
  return store.processes.listProcesses({
    asker: who,
    endedSince: now() - LISTED_AFTER_END_MS,
    limit: MAX_LISTED,
  });
}

async function formatRow(context: ChatCommandContext, process: Process): Promise<string> {
  const { text } = await readProcessTail(context.store, process, LAST_LINE_CHARACTERS);
  const last = text
    .trimEnd()
    .slice(text.trimEnd().lastIndexOf("\n") + 1)
    .trim();
  const shown = last === "" ? "" : `, last: ${escapeMarkdown(shortenLine(last, 80))}`;
  return `- \`${process.id}\` ${formatCommand(process.command, 60)}: ${formatState(context, process)}${shown}`;
}

function formatState({ now }: Pick<ChatCommandContext, "now">, { status, begunAt }: Process): string {
  if (status.state === "starting") return "starting";
  if (status.state === "ended") return `${describeExit(status.exit)} ${formatAgo(status.at, now())}`;
  const unseen = status.detached ? " (what it prints and how it ends cannot be seen any more)" : "";
  return `running for ${formatDuration(now() - begunAt)}${unseen}`;
}

function formatAgo(at: number, now: number): string {
  const words = formatTimeUntil(at, now);
  return words === "now" ? "just now" : words;
}

async function formatLog(context: ChatCommandContext, process: Process): Promise<string> {
  const { text } = await readProcessTail(context.store, process, 4 * LOG_CHARACTERS);
  const head = `${formatCommand(process.command)} (${process.id}): ${formatState(context, process)}`;
  const said = text.trimEnd();
  if (said === "") return `${head}. It has printed nothing.`;
  const cut = said.slice(-LOG_CHARACTERS).replace(/^[\uDC00-\uDFFF]/, "");
  const isCut = cut.length < said.length || process.total > 4 * LOG_CHARACTERS;
  return `${head}${isCut ? ", the last of what it printed" : ""}\n\n${fenceCode(cut)}`;
}

async function kill(context: ChatCommandContext, process: Process): Promise<string> {
  if (process.status.state === "ended")
    return `${formatCommand(process.command)} (${process.id}) has ended already: it ${describeExit(process.status.exit)} ${formatAgo(process.status.at, context.now())}.`;
  if (context.processes === undefined)
    throw new PostriderError(
      "not_allowed",
      `It cannot be ended from here. On the machine itself: postrider processes kill ${process.id}`,
    );
  const { status } = await context.processes.kill(process.id);
  const how = status.state === "ended" ? `: it ${describeExit(status.exit)}` : "";
  return `Ended ${formatCommand(process.command)} (${process.id})${how}.`;
}

/** A process that the asker may see, by its id or the beginning of a listed id. */
async function findProcess(context: ChatCommandContext, given: string): Promise<Process> {
  const name = given.trim().toLowerCase().replace(/^`|`$/g, "");
  if (name === "")
    throw new PostriderError("invalid_input", "Say which: /processes lists them with their ids.");
  const id = name.startsWith("proc_") ? name : `proc_${name}`;
  const found = isProcessId(id)
    ? [await context.store.processes.getProcess({ asker: context.who, id })]
    : (await findListed(context)).filter((process) => process.id.startsWith(id));
  const [process, ...more] = found;
  if (more.length > 0)
    throw new PostriderError(
      "ambiguous",
      `That could be ${found.length} processes: ${found.map((one) => one?.id).join(", ")}`,
    );
  if (process !== undefined) return process;
  throw new PostriderError(
    "not_found",
    `There is no process ${shortenLine(given, 40)}. /processes lists them.`,
  );
}

function isRunning({ status }: Process): boolean {
  return status.state !== "ended";
}

function buildChoice(context: ChatCommandContext, verb: "log" | "kill", process: Process): Choice {
  return {
    line: `/processes ${verb} ${process.id}`,
    label: `${verb === "kill" ? "End" : "Show"} ${shortenLine(process.command, 40)}`,
    about: `${process.id} · ${formatState(context, process)}`,
  };
}
