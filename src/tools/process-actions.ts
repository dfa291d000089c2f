import { PostriderError } from "../core/errors.ts";
import type { Process } from "../core/process.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { type Given, numberIn } from "./given.ts";
import type { Hands } from "./hands.ts";
import { linesOf, printedBy, tail } from "./output.ts";
import type { JudgedInput } from "./process-input.ts";
import { type Fields, jsonOutput, shownProcess } from "./shown-process.ts";
import { untilEnded } from "./until-ended.ts";

/** So much of its output belongs to how a process is, and so much to its end. */
const GLANCE = 1000;
const ENDING = 2000;
const USUAL_LINES = 200;

export interface ActionAsked {
  readonly process: Process;
  readonly given: Given;
  readonly hands: Hands;
  readonly signal: AbortSignal;
  /** The lines that a person was asked about in this turn. */
  readonly asked: ReadonlySet<string>;
}

export type ProcessAction = (asked: ActionAsked) => Promise<ToolOutput>;

/** What can be done with one process. */
export const ACTIONS: Readonly<Record<string, ProcessAction>> = { poll, log, wait, kill, write, submit };

async function poll({ process, hands }: ActionAsked): Promise<ToolOutput> {
  const { text } = await printedBy(hands, process.id);
  return jsonOutput({ ...(await shown(process, hands)), output: tail(text, GLANCE) });
}

async function log({ process, given, hands }: ActionAsked): Promise<ToolOutput> {
  const { text, isCut } = await printedBy(hands, process.id);
  const lines = linesOf(text);
  const limit = Math.max(1, Math.floor(numberIn(given, "limit") ?? USUAL_LINES));
  const offset = Math.max(0, Math.floor(numberIn(given, "offset") ?? lines.length - limit));
  const wanted = lines.slice(offset, offset + limit);
  return jsonOutput({
    ...(await shown(process, hands)),
    output: wanted.join("\n"),
    total_lines: lines.length,
    showing: wanted.length === 0 ? "no lines" : `lines ${offset} to ${offset + wanted.length - 1}`,
    ...(isCut && { cut: "The beginning is no longer kept: line 0 is the first that is." }),
  });
}

async function wait({ process, given, hands, signal }: ActionAsked): Promise<ToolOutput> {
  const longest = hands.timeoutMs;
  const asked = Math.max(0, (numberIn(given, "timeout") ?? longest / 1000) * 1000);
  const seen = await untilEnded(hands, process.id, { signal, longestMs: Math.min(asked, longest) });
  if (seen === undefined)
    throw new PostriderError("not_found", `The process ${process.id} is gone, with its session.`);
  const { text } = await printedBy(hands, process.id);
  const note = `timeout was lowered to ${longest / 1000} seconds, the most there is.`;
  const clamped = asked > longest ? { timeout_note: note } : {};
  if (seen.status.state === "ended")
    return jsonOutput({ ...(await shown(seen, hands)), output: tail(text, ENDING), ...clamped });
  return jsonOutput({
    ...(await shown(seen, hands)),
    status: signal.aborted ? "interrupted" : "timeout",
    output: tail(text, GLANCE),
    ...clamped,
  });
}

async function kill({ process, hands }: ActionAsked): Promise<ToolOutput> {
  if (process.status.state === "ended")
    return jsonOutput({ ...(await shown(process, hands)), status: "already_exited" });
  const after = await hands.processes.kill(process.id);
  if (after.status.state === "ended") return jsonOutput({ ...(await shown(after, hands)), status: "killed" });
  return jsonOutput(
    { ...(await shown(after, hands)), error: "It could not be ended, and still runs." },
    true,
  );
}

function write(asked: ActionAsked): Promise<ToolOutput> {
  return give(asked, "");
}

/** Enter is a carriage return for who sits at a terminal, and a line feed for who reads a pipe. */
function submit(asked: ActionAsked): Promise<ToolOutput> {
  return give(asked, asked.process.pty ? "\r" : "\n");
}

async function give({ process, given, hands, asked }: ActionAsked, end: string): Promise<ToolOutput> {
  const { id, status } = process;
  const { data } = given;
  if (status.state === "ended")
    return jsonOutput(
      {
        ...(await shown(process, hands)),
        status: "already_exited",
        error: "It has ended, and reads nothing any more.",
      },
      true,
    );
  // Enter alone says something, too.
  if (typeof data !== "string" && end === "")
    throw new PostriderError("invalid_input", "data is missing: the text to write.");
  const text = `${typeof data === "string" ? data : ""}${end}`;
  const judged = await judgePiece(text, process, hands);
  // Another piece came first since it was judged, so that the line is another one.
  if (judged.why !== undefined && !asked.has(lineKey(id, judged.line)))
    throw new PostriderError("not_allowed", "The line has changed since this was judged. Write it again.");
  // Nobody knows the line while the piece is on its way.
  await hands.store.recordProcessInput({ id });
  await hands.processes.write(id, text);
  const { unfinished } = judged;
  if (unfinished !== undefined) await hands.store.recordProcessInput({ id, unfinished });
  return jsonOutput({ session_id: id, status: "ok", bytes_written: Buffer.byteLength(text) });
}

/** What a piece of input does together with those before it. A process that is not known is taken for a shell. */
export async function judgePiece(
  text: string,
  process: Process | undefined,
  hands: Hands,
): Promise<JudgedInput> {
  const [{ inputKindOf, judgeInput }, { commandContext }] = await Promise.all([
    import("./process-input.ts"),
    import("./command-folders.ts"),
  ]);
  return judgeInput(text, {
    before: process === undefined ? "" : process.unfinishedInput,
    kind: process === undefined ? { kind: "shell" } : inputKindOf(process),
    // Lines before this one may have changed the folder.
    context: commandContext(hands, process?.cwd ?? hands.cwd, true),
  });
}

export function lineKey(id: string, line: string): string {
  return `${id}\n${line}`;
}

/** An agent that has seen the end of a process need not be woken by it. */
async function shown(process: Process, { store, clock }: Hands): Promise<Fields> {
  const { id, status, watch, told, total, matches } = process;
  const now = clock.now();
  if (status.state === "ended" && watch.wakes && !told.end) {
    const before = { upTo: told.upTo, matches: told.matches, end: false };
    await store.tellProcess({ process: id, before, upTo: total, matches: matches.count, end: true, now });
  }
  return shownProcess(process, now);
}
