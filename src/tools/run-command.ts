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

/** Whoever looks after the program ends it in time; only if that one has fallen, this does. */
const KILL_GRACE_MS = 5000;
const NO_PTY_NOTE = "No terminal could be made for it, so it runs with pipes.";

/** Runs until it ends, and says what it printed and how it ended. */
export async function runInForeground(
  wanted: CommandRequest,
  hands: ToolContext,
  signal: AbortSignal,
): Promise<ToolOutput> {
  if (signal.aborted) return createFailedOutput("It was stopped before the command was run.");
  const { timeoutMs } = wanted;
  const started = await startProcess(wanted, hands, timeoutMs);
  const { id } = started;
  // Nobody will ever write to it: what reads its input shall not wait for that.
  if (!started.pty) await hands.processes.endInput(id).catch(() => {}); // ended already, then
  const seen = await waitForProcessEnd(hands, id, { signal, longestMs: timeoutMs + KILL_GRACE_MS });
  const ended = seen?.status.state === "ended" ? seen : await hands.processes.kill(id);
  if (seen === undefined) return createFailedOutput("The session is gone, so the command was killed.");
  const { text: printed, isTruncated } = await readReadableOutput(hands, id);
  const how = describeEnd(ended, timeoutMs, signal.aborted && seen !== ended);
  const notes = [
    ...(isTruncated ? ["The beginning of the output is no longer kept."] : []),
    ...(wanted.pty && !started.pty ? [NO_PTY_NOTE] : []),
    ...wanted.notes,
    how.text,
  ];
  return formatCommandOutput([printed, ...notes], how.failed);
}

/** Runs before the eyes of whoever sits in the editor. */
export async function runInEditor(
  { command, cwd, timeoutMs, notes }: CommandRequest,
  terminal: Terminal,
  { id, signal }: { readonly id: string; readonly signal: AbortSignal },
): Promise<ToolOutput> {
  const end = await terminal.run(
    { call: id, executable: findShell(), args: ["-c", command], cwd, timeoutMs },
    signal,
  );
  // An editor may give more than it was asked for.
  return formatCommandOutput(
    [toReadableOutput(takeLastCharacters(end.text, KEPT_OUTPUT)), ...notes],
    end.failed,
  );
}

/** Runs on its own; the agent looks at it when it likes. */
export async function startInBackground(wanted: CommandRequest, hands: ToolContext): Promise<ToolOutput> {
  const started = await startProcess(wanted, hands);
  const notes = [...(wanted.pty && !started.pty ? [NO_PTY_NOTE] : []), ...wanted.notes];
  return toJsonOutput({
    ...describeProcess(started, hands.clock.now()),
    notes: [`The tool process looks at it, with session_id ${started.id}.`, ...notes],
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
  if (status.state !== "ended") return { text: "It could not be ended, and may still run.", failed: true };
  if (wasStopped) return { text: "It was stopped, and killed.", failed: true };
  const { exit, at } = status;
  const isSuccess = "code" in exit && exit.code === 0;
  if (!isSuccess && at - begunAt >= timeoutMs)
    return { text: `It did not end within ${timeoutMs / 1000} seconds and was killed.`, failed: true };
  return { text: `It ${describeExit(exit)}.`, failed: !isSuccess };
}

function formatCommandOutput([printed = "", ...notes]: readonly string[], hasFailed: boolean): ToolOutput {
  const shown = printed === "" ? "(It printed nothing.)" : printed.replace(/\n$/, "");
  return { parts: [textPart([shown, ...notes].join("\n"))], ...(hasFailed && { failed: true }) };
}
