import { PostriderError } from "../core/errors.ts";
import { fenced } from "../core/fence.ts";
import { plural } from "../core/plural.ts";
import { isProcessId, LISTED_AFTER_END_MS, type Process } from "../core/process.ts";
import { exitWords, inCode, lasting } from "../core/process-news.ts";
import { printed } from "../turns/process-output.ts";
import { type ChatCommand, type Choice, escaped, type Place, shortened } from "./command.ts";
import { distance } from "./when.ts";

const MOST_LISTED = 20;
/** Of a log, in a chat. */
const LOG_CHARACTERS = 3000;
/** Enough for the last line that holds anything. */
const LAST_LINE_CHARACTERS = 2000;

export const processes: ChatCommand = {
  name: "processes",
  aliases: ["ps"],
  takes: "[log ID | kill ID]",
  summary: "what runs in the background for you, what it printed, and how to end it",
  async run(place, args) {
    const [, verb = "", id = ""] = /^(\S*)\s*(.*)$/s.exec(args.trim()) ?? [];
    if (verb === "" || verb === "list") return list(place);
    if (verb === "log") return { text: await logOf(place, await namedProcess(place, id)) };
    if (verb === "kill") return { text: await kill(place, await namedProcess(place, id)) };
    throw new PostriderError(
      "invalid_input",
      "Write /processes for the list, /processes log ID for what one printed, or /processes kill ID to end it.",
    );
  },
  async complete(place, begun) {
    const all = (await listed(place)).flatMap((process) => [
      choiceOf(place, "log", process),
      ...(isRunning(process) ? [choiceOf(place, "kill", process)] : []),
    ]);
    return all.filter(({ line }) => line.includes(begun.trim()));
  },
};

/** How many programs run that were started in this conversation. */
export async function runningHere({ store, who }: Place, conversation: number): Promise<number> {
  return (await store.processes({ asker: who, conversation })).filter(isRunning).length;
}

/** `2 background processes run`. */
export function runningWords(count: number): string {
  return `${plural(count, "background process", "background processes")} ${count === 1 ? "runs" : "run"}`;
}

async function list(place: Place): Promise<{ text: string; choices?: readonly Choice[] }> {
  const found = await listed(place);
  if (found.length === 0) return { text: "Nothing runs in the background here." };
  const rows = await Promise.all(found.map((process) => rowOf(place, process)));
  const running = found.filter(isRunning);
  const choices = place.processes === undefined ? [] : running.map((one) => choiceOf(place, "kill", one));
  const more = "`/processes log ID` shows what one printed, `/processes kill ID` ends it.";
  return { text: `${rows.join("\n")}\n\n${more}`, ...(choices.length > 0 && { choices }) };
}

/** Whoever asks sees their own; where others read along, what was started in that chat. */
function listed({ store, who, now }: Place): Promise<readonly Process[]> {
  return store.processes({ asker: who, endedSince: now() - LISTED_AFTER_END_MS, limit: MOST_LISTED });
}

async function rowOf(place: Place, process: Process): Promise<string> {
  const { text } = await printed(place.store, process, LAST_LINE_CHARACTERS);
  const last = text
    .trimEnd()
    .slice(text.trimEnd().lastIndexOf("\n") + 1)
    .trim();
  const shown = last === "" ? "" : `, last: ${escaped(shortened(last, 80))}`;
  return `- \`${process.id}\` ${inCode(process.command, 60)}: ${stateOf(place, process)}${shown}`;
}

function stateOf({ now }: Pick<Place, "now">, { status, begunAt }: Process): string {
  if (status.state === "starting") return "starting";
  if (status.state === "ended") return `${exitWords(status.exit)} ${ago(status.at, now())}`;
  const unseen = status.detached ? " (what it prints and how it ends cannot be seen any more)" : "";
  return `running for ${lasting(now() - begunAt)}${unseen}`;
}

function ago(at: number, now: number): string {
  const words = distance(at, now);
  return words === "now" ? "just now" : words;
}

async function logOf(place: Place, process: Process): Promise<string> {
  const { text } = await printed(place.store, process, 4 * LOG_CHARACTERS);
  const head = `${inCode(process.command)} (${process.id}): ${stateOf(place, process)}`;
  const said = text.trimEnd();
  if (said === "") return `${head}. It has printed nothing.`;
  const cut = said.slice(-LOG_CHARACTERS).replace(/^[\uDC00-\uDFFF]/, "");
  const isCut = cut.length < said.length || process.total > 4 * LOG_CHARACTERS;
  return `${head}${isCut ? ", the last of what it printed" : ""}\n\n${fenced(cut)}`;
}

async function kill(place: Place, process: Process): Promise<string> {
  if (process.status.state === "ended")
    return `${inCode(process.command)} (${process.id}) has ended already: it ${exitWords(process.status.exit)} ${ago(process.status.at, place.now())}.`;
  if (place.processes === undefined)
    throw new PostriderError(
      "not_allowed",
      `It cannot be ended from here. On the machine itself: postrider processes kill ${process.id}`,
    );
  const { status } = await place.processes.kill(process.id);
  const how = status.state === "ended" ? `: it ${exitWords(status.exit)}` : "";
  return `Ended ${inCode(process.command)} (${process.id})${how}.`;
}

/** One that whoever asks may know of: by its id, or the beginning of one that is listed. */
async function namedProcess(place: Place, given: string): Promise<Process> {
  const name = given.trim().toLowerCase().replace(/^`|`$/g, "");
  if (name === "")
    throw new PostriderError("invalid_input", "Say which: /processes lists them with their ids.");
  const id = name.startsWith("proc_") ? name : `proc_${name}`;
  const found = isProcessId(id)
    ? [await place.store.process({ asker: place.who, id })]
    : (await listed(place)).filter((process) => process.id.startsWith(id));
  const [process, ...more] = found;
  if (more.length > 0)
    throw new PostriderError(
      "ambiguous",
      `That could be ${found.length} processes: ${found.map((one) => one?.id).join(", ")}`,
    );
  if (process !== undefined) return process;
  throw new PostriderError(
    "not_found",
    `There is no process ${shortened(given, 40)}. /processes lists them.`,
  );
}

function isRunning({ status }: Process): boolean {
  return status.state !== "ended";
}

function choiceOf(place: Place, verb: "log" | "kill", process: Process): Choice {
  return {
    line: `/processes ${verb} ${process.id}`,
    label: `${verb === "kill" ? "End" : "Show"} ${shortened(process.command, 40)}`,
    about: `${process.id} · ${stateOf(place, process)}`,
  };
}
