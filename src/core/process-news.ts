import { fenced } from "./fence.ts";
import { onOneLine } from "./printable.ts";
import { type Exit, LEAST_WATCH_MS, type Process, type TellProcess } from "./process.ts";

/** Of what it has printed, so many of the last characters: while it runs, and when it has ended. */
const RUNNING_TAIL = 500;
const LAST_TAIL = 1000;
const LONGEST_COMMAND = 80;
const MOST_LINES = 8;
const LONGEST_LINE = 200;

/**
 * What the chat is to be told of a process now: how far it is, in one message that is edited; lines that were waited for;
 * its end. `over`: it has ended, and nobody wants to know.
 */
export type News = "progress" | "matched" | "ended" | "over";

/** Compares counts of what was ever printed: the output that is kept stops growing when it is full. */
export function newsOf(process: Process, now: number): News | undefined {
  const { status, watch, told, matches } = process;
  if (told.end) return undefined;
  const hasMatched = watch.mode !== "off" && matches.count > told.matches;
  if (status.state === "ended") {
    if (tellsEnd(process)) return "ended";
    return hasMatched ? "matched" : "over";
  }
  if (status.state === "starting") return undefined;
  if (hasMatched && hasPassed(told.at, LEAST_WATCH_MS, now)) return "matched";
  return isFollowed(process) &&
    process.total > told.upTo &&
    hasPassed(Math.max(told.at, process.begunAt), watch.everyMs ?? 0, now)
    ? "progress"
    : undefined;
}

/** An instant in the future was stored under a clock that was ahead: nobody waits for it. */
function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms;
}

/** What is told now and then while it runs has a message of its own, which is edited. */
export function isFollowed({ watch }: Pick<Process, "watch">): boolean {
  return watch.mode === "all" && watch.everyMs !== undefined;
}

/** The mark that goes with the news: all that there was up to `upTo` has been told. */
export function tellingOf({ id, status, matches, told }: Process, upTo: number): TellProcess {
  return {
    process: id,
    before: { upTo: told.upTo, matches: told.matches, end: told.end },
    upTo: Math.max(told.upTo, upTo),
    matches: matches.count,
    end: status.state === "ended",
  };
}

/** How far it is. Output is given without control codes, here and below. */
export function progressText(process: Process, output: string, now: number): string {
  return withOutput(`${nameOf(process)} runs for ${lasting(now - process.begunAt)}.`, output, RUNNING_TAIL);
}

/** The lines that were waited for, as far as they have not been told. */
export function matchedText(process: Process): string {
  return `${nameOf(process)} printed${matchedLines(process)}`;
}

/** How it ended, with its last words. */
export function endedText(process: Process, output: string): string {
  const { matches, told, watch } = process;
  const isNew = watch.mode !== "off" && matches.count > told.matches;
  const lines = isNew ? `\n\nIt had printed${matchedLines(process)}\n\nAt last:` : "";
  return withOutput(`${endedLine(process)}${lines}`, output, LAST_TAIL);
}

/** The last line of what was told while it ran. */
export function endedLine(process: Process): string {
  return `${nameOf(process)} ${howItEnded(process)}.`;
}

/** What the agent is told, in its own session. */
export function wakeText(process: Process, output: string): string {
  const { id, command } = process;
  const said = tail(output, LAST_TAIL);
  const last = said === "" ? "It printed nothing." : `Its last output:\n${fenced(said)}\n`;
  return `[The background process ${id} (${inCode(command)}) ${howItEnded(process)}. ${last}]`;
}

/** `3 min`, `2 h 5 min`, `1 d 3 h`. */
export function lasting(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (minutes === 0) return `${seconds} s`;
  if (hours === 0) return `${minutes} min`;
  if (days === 0) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** To stand after what has ended. */
export function exitWords(exit: Exit): string {
  if ("code" in exit) return `ended with code ${exit.code}`;
  if ("signal" in exit) return `was ended by ${exit.signal}`;
  return exit.neverRan ? "was never begun" : "ended with an unknown code";
}

/** A command on one line, as code. */
export function inCode(command: string, longest: number = LONGEST_COMMAND): string {
  return `\`${cut(onOneLine(command), longest).replaceAll("`", "'")}\``;
}

function tellsEnd({ status, watch: { mode } }: Process): boolean {
  if (status.state !== "ended" || mode === "off") return false;
  return mode !== "error" || !("code" in status.exit) || status.exit.code !== 0;
}

function nameOf({ id, command }: Process): string {
  return `${inCode(command)} (${id})`;
}

function howItEnded({ status, begunAt }: Process): string {
  if (status.state !== "ended") return "has not ended";
  return `${exitWords(status.exit)} after ${lasting(status.at - begunAt)}`;
}

function matchedLines({ matches, told }: Process): string {
  const isNew = matches.count - told.matches;
  const lines = matches.lines.slice(-Math.min(isNew, MOST_LINES)).map((line) => cut(line, LONGEST_LINE));
  const more = isNew - lines.length;
  const before = more > 0 ? ` (and ${more} more before)` : "";
  return `${before}:\n\n${fenced(lines.join("\n"))}`;
}

function withOutput(words: string, output: string, most: number): string {
  const said = tail(output, most);
  return said === "" ? `${words} It printed nothing.` : `${words}\n\n${fenced(said)}`;
}

/** The last characters, from the beginning of a whole one on, without blank lines before them. */
function tail(output: string, most: number): string {
  const last = output.trimEnd().slice(-most);
  return last.replace(/^[\uDC00-\uDFFF]/, "").replace(/^(?:[^\S\n]*\n)+/, "");
}

function cut(text: string, most: number): string {
  // One character more than is shown says that there is more; each has two units at most.
  const characters = [...text.slice(0, 2 * most + 2)];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : text;
}
