import { text } from "../core/message.ts";
import { KEPT_OUTPUT, type Process, processIdFrom } from "../core/process.ts";
import type { Terminal } from "../ports/terminal.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { shell } from "../processes/shell.ts";
import type { CommandWanted } from "./command-wanted.ts";
import { exitWords } from "./exit-words.ts";
import { failed } from "./given.ts";
import type { Hands } from "./hands.ts";
import { printedBy, readable, tail } from "./output.ts";
import { jsonOutput, shownProcess } from "./shown-process.ts";
import { untilEnded } from "./until-ended.ts";

/** Whoever looks after the program ends it in time; only if that one has fallen, this does. */
const LATE_MS = 5000;
const NO_PTY = "No terminal could be made for it, so it runs with pipes.";

/** Runs until it ends, and says what it printed and how it ended. */
export async function runHere(wanted: CommandWanted, hands: Hands, signal: AbortSignal): Promise<ToolOutput> {
  if (signal.aborted) return failed("It was stopped before the command was run.");
  const { timeoutMs } = wanted;
  const started = await start(wanted, hands, timeoutMs);
  const { id } = started;
  // Nobody will ever write to it: what reads its input shall not wait for that.
  if (!started.pty) await hands.processes.endInput(id).catch(() => {}); // ended already, then
  const seen = await untilEnded(hands, id, { signal, longestMs: timeoutMs + LATE_MS });
  const ended = seen?.status.state === "ended" ? seen : await hands.processes.kill(id);
  if (seen === undefined) return failed("The session is gone, so the command was killed.");
  const { text: printed, isCut } = await printedBy(hands, id);
  const how = endOf(ended, timeoutMs, signal.aborted && seen !== ended);
  const notes = [
    ...(isCut ? ["The beginning of the output is no longer kept."] : []),
    ...(wanted.pty && !started.pty ? [NO_PTY] : []),
    ...wanted.notes,
    how.words,
  ];
  return said([printed, ...notes], how.failed);
}

/** Runs before the eyes of whoever sits in the editor. */
export async function runInEditor(
  { command, cwd, timeoutMs, notes }: CommandWanted,
  terminal: Terminal,
  { id, signal }: { readonly id: string; readonly signal: AbortSignal },
): Promise<ToolOutput> {
  const end = await terminal.run(
    { call: id, program: shell(), args: ["-c", command], cwd, timeoutMs },
    signal,
  );
  // An editor may give more than it was asked for.
  return said([readable(tail(end.text, KEPT_OUTPUT)), ...notes], end.failed);
}

/** Runs on its own; the agent looks at it when it likes. */
export async function startInBackground(wanted: CommandWanted, hands: Hands): Promise<ToolOutput> {
  const started = await start(wanted, hands);
  const notes = [...(wanted.pty && !started.pty ? [NO_PTY] : []), ...wanted.notes];
  return jsonOutput({
    ...shownProcess(started, hands.clock.now()),
    notes: [`The tool process looks at it, with session_id ${started.id}.`, ...notes],
  });
}

function start(
  { command, cwd, background, pty, watch }: CommandWanted,
  { processes, clock, session, conversation, target, environment, secrets }: Hands,
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

interface End {
  readonly words: string;
  readonly failed: boolean;
}

function endOf({ status, begunAt }: Process, timeoutMs: number, wasStopped: boolean): End {
  if (status.state !== "ended") return { words: "It could not be ended, and may still run.", failed: true };
  if (wasStopped) return { words: "It was stopped, and killed.", failed: true };
  const { exit, at } = status;
  const isSuccess = "code" in exit && exit.code === 0;
  if (!isSuccess && at - begunAt >= timeoutMs)
    return { words: `It did not end within ${timeoutMs / 1000} seconds and was killed.`, failed: true };
  return { words: exitWords(exit), failed: !isSuccess };
}

function said([printed = "", ...notes]: readonly string[], hasFailed: boolean): ToolOutput {
  const shown = printed === "" ? "(It printed nothing.)" : printed.replace(/\n$/, "");
  return { parts: [text([shown, ...notes].join("\n"))], ...(hasFailed && { failed: true }) };
}
