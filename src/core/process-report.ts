import { fenceCode } from "./fence.ts";
import { toOneLine } from "./printable.ts";
import { type Exit, MIN_REPORT_INTERVAL_MS, type Process, type ProcessReport } from "./process.ts";

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
export type ReportKind = "progress" | "matched" | "ended" | "over";

/** Compares counts of what was ever printed: the output that is kept stops growing when it is full. */
export function findDueReport(process: Process, now: number): ReportKind | undefined {
  const { status, watch, reported, matches } = process;
  if (reported.end) return undefined;
  const hasMatched = watch.mode !== "off" && matches.count > reported.matches;
  if (status.state === "ended") {
    if (needsEndReport(process)) return "ended";
    return hasMatched ? "matched" : "over";
  }
  if (status.state === "starting") return undefined;
  if (hasMatched && hasPassed(reported.at, MIN_REPORT_INTERVAL_MS, now)) return "matched";
  return hasProgressMessage(process) &&
    process.total > reported.upTo &&
    hasPassed(Math.max(reported.at, process.begunAt), watch.everyMs ?? 0, now)
    ? "progress"
    : undefined;
}

/** An instant in the future was stored under a clock that was ahead: nobody waits for it. */
function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms;
}

/** What is told now and then while it runs has a message of its own, which is edited. */
export function hasProgressMessage({ watch }: Pick<Process, "watch">): boolean {
  return watch.mode === "all" && watch.everyMs !== undefined;
}

/** The mark that goes with the news: all that there was up to `upTo` has been told. */
export function buildProcessReport({ id, status, matches, reported }: Process, upTo: number): ProcessReport {
  return {
    process: id,
    before: { upTo: reported.upTo, matches: reported.matches, end: reported.end },
    upTo: Math.max(reported.upTo, upTo),
    matches: matches.count,
    end: status.state === "ended",
  };
}

/** How far it is. Output is given without control codes, here and below. */
export function formatProgress(process: Process, output: string, now: number): string {
  return appendOutput(
    `${formatName(process)} runs for ${formatDuration(now - process.begunAt)}.`,
    output,
    RUNNING_TAIL,
  );
}

/** The lines that were waited for, as far as they have not been told. */
export function formatMatches(process: Process): string {
  return `${formatName(process)} printed${formatMatchedLines(process)}`;
}

/** How it ended, with its last words. */
export function formatEnd(process: Process, output: string): string {
  const { matches, reported, watch } = process;
  const isNew = watch.mode !== "off" && matches.count > reported.matches;
  const lines = isNew ? `\n\nIt had printed${formatMatchedLines(process)}\n\nAt last:` : "";
  return appendOutput(`${formatEndLine(process)}${lines}`, output, LAST_TAIL);
}

/** The last line of what was told while it ran. */
export function formatEndLine(process: Process): string {
  return `${formatName(process)} ${describeEnd(process)}.`;
}

/** What the agent is told, in its own session. */
export function formatWakeMessage(process: Process, output: string): string {
  const { id, command } = process;
  const said = takeTail(output, LAST_TAIL);
  const last = said === "" ? "It printed nothing." : `Its last output:\n${fenceCode(said)}\n`;
  return `[The background process ${id} (${formatCommand(command)}) ${describeEnd(process)}. ${last}]`;
}

/** `3 min`, `2 h 5 min`, `1 d 3 h`. */
export function formatDuration(ms: number): string {
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
export function describeExit(exit: Exit): string {
  if ("code" in exit) return `ended with code ${exit.code}`;
  if ("signal" in exit) return `was ended by ${exit.signal}`;
  return exit.neverRan ? "was never begun" : "ended with an unknown code";
}

/** A command on one line, as code. */
export function formatCommand(command: string, longest: number = LONGEST_COMMAND): string {
  return `\`${shorten(toOneLine(command), longest).replaceAll("`", "'")}\``;
}

function needsEndReport({ status, watch: { mode } }: Process): boolean {
  if (status.state !== "ended" || mode === "off") return false;
  return mode !== "error" || !("code" in status.exit) || status.exit.code !== 0;
}

function formatName({ id, command }: Process): string {
  return `${formatCommand(command)} (${id})`;
}

function describeEnd({ status, begunAt }: Process): string {
  if (status.state !== "ended") return "has not ended";
  return `${describeExit(status.exit)} after ${formatDuration(status.at - begunAt)}`;
}

function formatMatchedLines({ matches, reported }: Process): string {
  const isNew = matches.count - reported.matches;
  const lines = matches.lines.slice(-Math.min(isNew, MOST_LINES)).map((line) => shorten(line, LONGEST_LINE));
  const more = isNew - lines.length;
  const before = more > 0 ? ` (and ${more} more before)` : "";
  return `${before}:\n\n${fenceCode(lines.join("\n"))}`;
}

function appendOutput(words: string, output: string, most: number): string {
  const said = takeTail(output, most);
  return said === "" ? `${words} It printed nothing.` : `${words}\n\n${fenceCode(said)}`;
}

/** The last characters, from the beginning of a whole one on, without blank lines before them. */
function takeTail(output: string, most: number): string {
  const last = output.trimEnd().slice(-most);
  return last.replace(/^[\uDC00-\uDFFF]/, "").replace(/^(?:[^\S\n]*\n)+/, "");
}

function shorten(text: string, most: number): string {
  // One character more than is shown says that there is more; each has two units at most.
  const characters = [...text.slice(0, 2 * most + 2)];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : text;
}
