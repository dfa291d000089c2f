import { fenceCode } from "./fence.ts";
import { toOneLine } from "./printable.ts";
import { type Exit, MIN_REPORT_INTERVAL_MS, type Process, type ProcessReport } from "./process.ts";

/** How many of the last characters of the output a report contains: while it runs, and after its end. */
const RUNNING_TAIL = 500;
const END_TAIL = 1000;
const MAX_COMMAND_LENGTH = 80;
const MAX_MATCHED_LINES = 8;
const MAX_LINE_LENGTH = 200;

/** `progress` is one message that is edited; `matched` reports lines; `over`: it ended, and its end is not to be reported. */
export type ReportKind = "progress" | "matched" | "ended" | "over";

/** Compares totals, because the kept output stops growing at its limit. */
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

/** A time in the future was stored while the system clock was ahead. It counts as passed. */
function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms;
}

/** Whether regular reports go into one message that is edited. */
export function hasProgressMessage({ watch }: Pick<Process, "watch">): boolean {
  return watch.mode === "all" && watch.everyMs !== undefined;
}

/** The record of a report: output up to `upTo`, all matches, and the end if it ended. */
export function buildProcessReport({ id, status, matches, reported }: Process, upTo: number): ProcessReport {
  return {
    process: id,
    before: { upTo: reported.upTo, matches: reported.matches, end: reported.end },
    upTo: Math.max(reported.upTo, upTo),
    matches: matches.count,
    end: status.state === "ended",
  };
}

/** The text of a progress report. `output` contains no control codes, here and below. */
export function formatProgress(process: Process, output: string, now: number): string {
  return appendOutput(
    `${formatName(process)} runs for ${formatDuration(now - process.begunAt)}.`,
    output,
    RUNNING_TAIL,
  );
}

/** The matched lines that were not reported yet. */
export function formatMatches(process: Process): string {
  return `${formatName(process)} printed${formatMatchedLines(process)}`;
}

/** The exit and the last output. */
export function formatEnd(process: Process, output: string): string {
  const { matches, reported, watch } = process;
  const isNew = watch.mode !== "off" && matches.count > reported.matches;
  const lines = isNew ? `\n\nIt printed${formatMatchedLines(process)}\n\nIts last output:` : "";
  return appendOutput(`${formatEndLine(process)}${lines}`, output, END_TAIL);
}

/** The last line of the progress message. */
export function formatEndLine(process: Process): string {
  return `${formatName(process)} ${describeEnd(process)}.`;
}

/** The message that reports the end of a process to the agent. */
export function formatWakeMessage(process: Process, output: string): string {
  const { id, command } = process;
  const tail = takeTail(output, END_TAIL);
  const last = tail === "" ? "It printed nothing." : `Its last output:\n${fenceCode(tail)}\n`;
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

/** Describes the exit. The result follows the name of the process. */
export function describeExit(exit: Exit): string {
  if ("code" in exit) return `ended with code ${exit.code}`;
  if ("signal" in exit) return `was ended by ${exit.signal}`;
  return exit.neverRan ? "never started" : "ended with an unknown code";
}

/** A command on one line, as code. */
export function formatCommand(command: string, maxLength: number = MAX_COMMAND_LENGTH): string {
  return `\`${shorten(toOneLine(command), maxLength).replaceAll("`", "'")}\``;
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
  const newCount = matches.count - reported.matches;
  const newLines = matches.lines.slice(-Math.min(newCount, MAX_MATCHED_LINES));
  const lines = newLines.map((line) => shorten(line, MAX_LINE_LENGTH));
  const more = newCount - lines.length;
  const before = more > 0 ? ` (and ${more} more before)` : "";
  return `${before}:\n\n${fenceCode(lines.join("\n"))}`;
}

function appendOutput(text: string, output: string, maxLength: number): string {
  const tail = takeTail(output, maxLength);
  return tail === "" ? `${text} It printed nothing.` : `${text}\n\n${fenceCode(tail)}`;
}

/** The last characters, without half a surrogate pair and without blank lines at the start. */
function takeTail(output: string, maxLength: number): string {
  const last = output.trimEnd().slice(-maxLength);
  return last.replace(/^[\uDC00-\uDFFF]/, "").replace(/^(?:[^\S\n]*\n)+/, "");
}

function shorten(text: string, maxLength: number): string {
  // One character more than the limit is enough to know that the text is too long; a character has two units at most.
  const characters = [...text.slice(0, 2 * maxLength + 2)];
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join("")}…` : text;
}
