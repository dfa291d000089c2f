import { PostriderError } from "../core/errors.ts";
import type { Process } from "../core/process.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { describeProcess, type ProcessFields, toJsonOutput } from "./describe-process.ts";
import type { InputJudgement } from "./process-input.ts";
import { readReadableOutput, splitOutputLines, takeLastCharacters } from "./readable-output.ts";
import { readNumberArgument, type ToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import { waitForProcessEnd } from "./wait-for-process-end.ts";

/** So much of its output belongs to how a process is, and so much to its end. */
const POLL_OUTPUT_LENGTH = 1000;
const END_OUTPUT_LENGTH = 2000;
const DEFAULT_LINES = 200;

export interface ProcessActionRequest {
  readonly process: Process;
  readonly args: ToolArguments;
  readonly context: ToolContext;
  readonly signal: AbortSignal;
  /** The lines that a person was asked about in this turn. */
  readonly askedLines: ReadonlySet<string>;
}

export type ProcessAction = (asked: ProcessActionRequest) => Promise<ToolOutput>;

/** What can be done with one process. */
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
  const wanted = lines.slice(offset, offset + limit);
  return toJsonOutput({
    ...(await reportProcess(process, context)),
    output: wanted.join("\n"),
    total_lines: lines.length,
    showing: wanted.length === 0 ? "no lines" : `lines ${offset} to ${offset + wanted.length - 1}`,
    ...(isTruncated && { cut: "The beginning is no longer kept: line 0 is the first that is." }),
  });
}

async function wait({ process, args, context, signal }: ProcessActionRequest): Promise<ToolOutput> {
  const longest = context.timeoutMs;
  const asked = Math.max(0, (readNumberArgument(args, "timeout") ?? longest / 1000) * 1000);
  const seen = await waitForProcessEnd(context, process.id, { signal, longestMs: Math.min(asked, longest) });
  if (seen === undefined)
    throw new PostriderError("not_found", `The process ${process.id} is gone, with its session.`);
  const { text } = await readReadableOutput(context, process.id);
  const note = `timeout was lowered to ${longest / 1000} seconds, the most there is.`;
  const clamped = asked > longest ? { timeout_note: note } : {};
  if (seen.status.state === "ended")
    return toJsonOutput({
      ...(await reportProcess(seen, context)),
      output: takeLastCharacters(text, END_OUTPUT_LENGTH),
      ...clamped,
    });
  return toJsonOutput({
    ...(await reportProcess(seen, context)),
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
    { ...(await reportProcess(after, context)), error: "It could not be ended, and still runs." },
    true,
  );
}

function write(asked: ProcessActionRequest): Promise<ToolOutput> {
  return writeInput(asked, "");
}

/** Enter is a carriage return for who sits at a terminal, and a line feed for who reads a pipe. */
function submit(asked: ProcessActionRequest): Promise<ToolOutput> {
  return writeInput(asked, asked.process.pty ? "\r" : "\n");
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
        error: "It has ended, and reads nothing any more.",
      },
      true,
    );
  // Enter alone says something, too.
  if (typeof data !== "string" && end === "")
    throw new PostriderError("invalid_input", "data is missing: the text to write.");
  const text = `${typeof data === "string" ? data : ""}${end}`;
  const judged = await judgeInputPiece(text, process, context);
  // Another piece came first since it was judged, so that the line is another one.
  if (judged.why !== undefined && !askedLines.has(toLineKey(id, judged.line)))
    throw new PostriderError("not_allowed", "The line has changed since this was judged. Write it again.");
  // Nobody knows the line while the piece is on its way.
  await context.store.processes.recordProcessInput({ id });
  await context.processes.write(id, text);
  const { unfinished } = judged;
  if (unfinished !== undefined) await context.store.processes.recordProcessInput({ id, unfinished });
  return toJsonOutput({ session_id: id, status: "ok", bytes_written: Buffer.byteLength(text) });
}

/** What a piece of input does together with those before it. A process that is not known is taken for a shell. */
export async function judgeInputPiece(
  text: string,
  process: Process | undefined,
  hands: ToolContext,
): Promise<InputJudgement> {
  const [{ detectInputKind: inputKindOf, judgeInput }, { buildCommandContext: commandContext }] =
    await Promise.all([import("./process-input.ts"), import("./build-command-context.ts")]);
  return judgeInput(text, {
    before: process === undefined ? "" : process.unfinishedInput,
    kind: process === undefined ? { kind: "shell" } : inputKindOf(process),
    // Lines before this one may have changed the folder.
    context: commandContext(hands, process?.cwd ?? hands.cwd, true),
  });
}

export function toLineKey(id: string, line: string): string {
  return `${id}\n${line}`;
}

/** An agent that has seen the end of a process need not be woken by it. */
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
