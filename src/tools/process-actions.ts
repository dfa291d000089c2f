import { PostriderError } from "../core/errors.ts";
import type { Process } from "../core/process.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { describeProcess, type ProcessFields, toJsonOutput } from "./describe-process.ts";
import type { InputJudgement } from "./process-input.ts";
import { readReadableOutput, splitOutputLines, takeLastCharacters } from "./readable-output.ts";
import { readNumberArgument, type ToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import { waitForProcessEnd } from "./wait-for-process-end.ts";

/** The length of the output in a poll, and at the end of a process. */
const POLL_OUTPUT_LENGTH = 1000;
const END_OUTPUT_LENGTH = 2000;
const DEFAULT_LINES = 200;

export interface ProcessActionRequest {
  readonly process: Process;
  readonly args: ToolArguments;
  readonly context: ToolContext;
  readonly signal: AbortSignal;
  /** The input lines that a person was asked to approve in this turn. */
  readonly askedLines: ReadonlySet<string>;
}

export type ProcessAction = (request: ProcessActionRequest) => Promise<ToolOutput>;

/** The actions on one process. */
export const PROCESS_ACTIONS: Readonly<Record<string, ProcessAction>> = {
  poll,
  log,
  wait,
  kill,
  write,
  submit,
};

async function poll({ process, context }: ProcessActionRequest): Promise<ToolOutput> {
  const { text } = await readReadableOutput(context, process.id);
  return toJsonOutput({
    ...(await reportProcess(process, context)),
    output: takeLastCharacters(text, POLL_OUTPUT_LENGTH),
  });
}

async function log({ process, args, context }: ProcessActionRequest): Promise<ToolOutput> {
  const { text, isTruncated } = await readReadableOutput(context, process.id);
  const lines = splitOutputLines(text);
  const limit = Math.max(1, Math.floor(readNumberArgument(args, "limit") ?? DEFAULT_LINES));
  const offset = Math.max(0, Math.floor(readNumberArgument(args, "offset") ?? lines.length - limit));
  const page = lines.slice(offset, offset + limit);
  return toJsonOutput({
    ...(await reportProcess(process, context)),
    output: page.join("\n"),
    total_lines: lines.length,
    showing: page.length === 0 ? "no lines" : `lines ${offset} to ${offset + page.length - 1}`,
    ...(isTruncated && {
      cut: "The start of the output is no longer stored: line 0 is the first stored line.",
    }),
  });
}

async function wait({ process, args, context, signal }: ProcessActionRequest): Promise<ToolOutput> {
  const maxMs = context.timeoutMs;
  const requestedMs = Math.max(0, (readNumberArgument(args, "timeout") ?? maxMs / 1000) * 1000);
  const latest = await waitForProcessEnd(context, process.id, {
    signal,
    timeoutMs: Math.min(requestedMs, maxMs),
  });
  if (latest === undefined)
    throw new PostriderError("not_found", `The process ${process.id} was deleted with its session.`);
  const { text } = await readReadableOutput(context, process.id);
  const note = `timeout was lowered to ${maxMs / 1000} seconds, the maximum.`;
  const clamped = requestedMs > maxMs ? { timeout_note: note } : {};
  if (latest.status.state === "ended")
    return toJsonOutput({
      ...(await reportProcess(latest, context)),
      output: takeLastCharacters(text, END_OUTPUT_LENGTH),
      ...clamped,
    });
  return toJsonOutput({
    ...(await reportProcess(latest, context)),
    status: signal.aborted ? "interrupted" : "timeout",
    output: takeLastCharacters(text, POLL_OUTPUT_LENGTH),
    ...clamped,
  });
}

async function kill({ process, context }: ProcessActionRequest): Promise<ToolOutput> {
  if (process.status.state === "ended")
    return toJsonOutput({ ...(await reportProcess(process, context)), status: "already_exited" });
  const after = await context.processes.kill(process.id);
  if (after.status.state === "ended")
    return toJsonOutput({ ...(await reportProcess(after, context)), status: "killed" });
  return toJsonOutput(
    { ...(await reportProcess(after, context)), error: "The kill failed; the process still runs." },
    true,
  );
}

function write(request: ProcessActionRequest): Promise<ToolOutput> {
  return writeInput(request, "");
}

/** Enter is a carriage return in a terminal and a line feed in a pipe. */
function submit(request: ProcessActionRequest): Promise<ToolOutput> {
  return writeInput(request, request.process.pty ? "\r" : "\n");
}

async function writeInput(
  { process, args, context, askedLines }: ProcessActionRequest,
  end: string,
): Promise<ToolOutput> {
  const { id, status } = process;
  const { data } = args;
  if (status.state === "ended")
    return toJsonOutput(
      {
        ...(await reportProcess(process, context)),
        status: "already_exited",
        error: "The process has ended, so it cannot read input.",
      },
      true,
    );
  // Enter alone is valid input.
  if (typeof data !== "string" && end === "")
    throw new PostriderError("invalid_input", "data is missing: the text to write.");
  const text = `${typeof data === "string" ? data : ""}${end}`;
  const judged = await judgeInputPiece(text, process, context);
  // Other input arrived after the check, so the line has changed.
  if (judged.why !== undefined && !askedLines.has(toLineKey(id, judged.line)))
    throw new PostriderError("not_allowed", "The input line changed after this was checked. Write it again.");
  // The line is unknown until the write is done.
  await context.store.processes.recordProcessInput({ id });
  await context.processes.write(id, text);
  const { unfinished } = judged;
  if (unfinished !== undefined) await context.store.processes.recordProcessInput({ id, unfinished });
  return toJsonOutput({ session_id: id, status: "ok", bytes_written: Buffer.byteLength(text) });
}

/** Classifies a piece of input together with the unfinished line. An unknown process counts as a shell. */
export async function judgeInputPiece(
  text: string,
  process: Process | undefined,
  context: ToolContext,
): Promise<InputJudgement> {
  const [{ detectInputKind, judgeInput }, { buildCommandContext }] = await Promise.all([
    import("./process-input.ts"),
    import("./build-command-context.ts"),
  ]);
  return judgeInput(text, {
    before: process === undefined ? "" : process.unfinishedInput,
    kind: process === undefined ? { kind: "shell" } : detectInputKind(process),
    // Earlier lines may have changed the folder.
    context: buildCommandContext(context, process?.cwd ?? context.cwd, true),
  });
}

export function toLineKey(id: string, line: string): string {
  return `${id}\n${line}`;
}

/** Marks the end as reported, so that it does not wake the agent. */
async function reportProcess(process: Process, { store, clock }: ToolContext): Promise<ProcessFields> {
  const { id, status, watch, reported, total, matches } = process;
  const now = clock.now();
  if (status.state === "ended" && watch.wakes && !reported.end) {
    const before = { upTo: reported.upTo, matches: reported.matches, end: false };
    await store.processes.markProcessReported({
      process: id,
      before,
      upTo: total,
      matches: matches.count,
      end: true,
      now,
    });
  }
  return describeProcess(process, now);
}
