import { textPart } from "../core/message.ts";
import { KEPT_OUTPUT, type Process, processIdFrom } from "../core/process.ts";
import { describeExit } from "../core/process-report.ts";
import type { Terminal } from "../ports/terminal.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { findShell } from "../processes/shell.ts";
import type { CommandRequest } from "./command-request.ts";
import { describeProcess, toJsonOutput } from "./describe-process.ts";
import { readReadableOutput, takeLastCharacters, toReadableOutput } from "./readable-output.ts";
import { createFailedOutput } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import { waitForProcessEnd } from "./wait-for-process-end.ts";

/** The keeper enforces the time-out; this is the fallback if the keeper crashed. */
const KILL_GRACE_MS = 5000;
const NO_PTY_NOTE = "A terminal could not be created, so the command runs with pipes.";

/** Runs a command to its end and returns its output and exit code. */
export async function runInForeground(
  request: CommandRequest,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ToolOutput> {
  if (signal.aborted) return createFailedOutput("The call was stopped before the command ran.");
  const { timeoutMs } = request;
  const started = await startProcess(request, context, timeoutMs);
  const { id } = started;
  // Closes the input, because nobody can write to it and a reader would wait.
  if (!started.pty) await context.processes.endInput(id).catch(() => {}); // it has ended already
  const latest = await waitForProcessEnd(context, id, { signal, timeoutMs: timeoutMs + KILL_GRACE_MS });
  const ended = latest?.status.state === "ended" ? latest : await context.processes.kill(id);
  if (latest === undefined) return createFailedOutput("The session was deleted, so the command was killed.");
  const { text: output, isTruncated } = await readReadableOutput(context, id);
  const how = describeEnd(ended, timeoutMs, signal.aborted && latest !== ended);
  const notes = [
    ...(isTruncated ? ["The start of the output is no longer stored."] : []),
    ...(request.pty && !started.pty ? [NO_PTY_NOTE] : []),
    ...request.notes,
    how.text,
  ];
  return formatCommandOutput([output, ...notes], how.failed);
}

/** Runs the command in a terminal of the editor. */
export async function runInEditor(
  { command, cwd, timeoutMs, notes }: CommandRequest,
  terminal: Terminal,
  { id, signal }: { readonly id: string; readonly signal: AbortSignal },
): Promise<ToolOutput> {
  const end = await terminal.run(
    { call: id, executable: findShell(), args: ["-c", command], cwd, timeoutMs },
    signal,
  );
  // An editor may return more output than requested.
  return formatCommandOutput(
    [toReadableOutput(takeLastCharacters(end.text, KEPT_OUTPUT)), ...notes],
    end.failed,
  );
}

/** Starts a background command and returns its id. */
export async function startInBackground(request: CommandRequest, context: ToolContext): Promise<ToolOutput> {
  const started = await startProcess(request, context);
  const notes = [...(request.pty && !started.pty ? [NO_PTY_NOTE] : []), ...request.notes];
  return toJsonOutput({
    ...describeProcess(started, context.clock.now()),
    notes: [`Use the tool process with session_id ${started.id} to inspect it.`, ...notes],
  });
}

function startProcess(
  { command, cwd, background, pty, watch }: CommandRequest,
  { processes, clock, session, conversation, target, environment, secrets }: ToolContext,
  timeoutMs?: number,
): Promise<Process> {
  return processes.start({
    id: processIdFrom(clock.random(6)),
    command,
    cwd,
    background,
    pty,
    watch,
    session,
    conversation,
    target,
    environment,
    secrets,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
}

interface CommandEnd {
  readonly text: string;
  readonly failed: boolean;
}

function describeEnd({ status, begunAt }: Process, timeoutMs: number, wasStopped: boolean): CommandEnd {
  if (status.state !== "ended") return { text: "The kill failed; the command may still run.", failed: true };
  if (wasStopped) return { text: "The command was stopped and killed.", failed: true };
  const { exit, at } = status;
  const isSuccess = "code" in exit && exit.code === 0;
  if (!isSuccess && at - begunAt >= timeoutMs)
    return {
      text: `The command did not end within ${timeoutMs / 1000} seconds and was killed.`,
      failed: true,
    };
  return { text: `It ${describeExit(exit)}.`, failed: !isSuccess };
}

function formatCommandOutput([output = "", ...notes]: readonly string[], hasFailed: boolean): ToolOutput {
  const shown = output === "" ? "(no output)" : output.replace(/\n$/, "");
  return { parts: [textPart([shown, ...notes].join("\n"))], ...(hasFailed && { failed: true }) };
}
