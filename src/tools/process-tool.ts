import type { ApprovalRequest } from "../core/approval.ts";
import { isProcessId, LISTED_AFTER_END_MS, type Process } from "../core/process.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { describeProcess, toJsonOutput } from "./describe-process.ts";
import type { ProcessActionRequest } from "./process-actions.ts";
import { runToolAction, type ToolArguments, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

const ACTION_NAMES: readonly string[] = ["list", "poll", "log", "wait", "kill", "write", "submit"];
/** Actions with effects outside Postrider. */
const CHANGING_ACTIONS: readonly string[] = ["kill", "write", "submit"];

/** Inspects and controls background processes of this conversation. */
export function processTool(context: ToolContext): Tool {
  // The approved lines of this turn, so that no other line is written instead.
  const askedLines = new Set<string>();
  return {
    name: "process",
    description: DESCRIPTION,
    input: INPUT,
    effect: "external",
    getEffect: (args) =>
      CHANGING_ACTIONS.includes(String(toToolArguments(args).action)) ? "external" : "none",
    buildApprovalRequest: (args) => buildApprovalRequest(toToolArguments(args), context, askedLines),
    run: (args, { signal }) =>
      runToolAction(() => runAction(toToolArguments(args), { context, signal, askedLines }), toErrorOutput),
  };
}

async function runAction(
  args: ToolArguments,
  { context, signal, askedLines }: Pick<ProcessActionRequest, "context" | "signal" | "askedLines">,
): Promise<ToolOutput> {
  const name = typeof args.action === "string" ? args.action : "";
  if (name === "list") return listProcesses(context);
  const { PROCESS_ACTIONS } = await import("./process-actions.ts");
  const action = Object.entries(PROCESS_ACTIONS).find(([known]) => known === name)?.[1];
  if (action === undefined)
    return toErrorOutput(`Unknown action ${quote(name)}. Use: ${ACTION_NAMES.join(", ")}.`);
  const id = readProcessId(args);
  if (id === "") return toErrorOutput(`session_id is missing: ${name} needs the id of a process.`);
  const process = await findOwnProcess(id, context);
  if (process === undefined)
    return toJsonOutput(
      {
        status: "not_found",
        error: `This conversation has no process ${quote(id)}. Use the action list.`,
      },
      true,
    );
  return action({ process, args, context, signal, askedLines });
}

/** The error is the same for a missing process and for another person's process. */
async function findOwnProcess(
  id: string,
  { store, asker, conversation }: ToolContext,
): Promise<Process | undefined> {
  const found = isProcessId(id) ? await store.processes.getProcess({ asker, id }) : undefined;
  return found?.conversation === conversation ? found : undefined;
}

async function listProcesses(context: ToolContext): Promise<ToolOutput> {
  const { store, asker, conversation, clock } = context;
  const now = clock.now();
  const processes = await store.processes.listProcesses({
    asker,
    conversation,
    endedSince: now - LISTED_AFTER_END_MS,
  });
  return toJsonOutput({ processes: processes.map((process) => describeProcess(process, now)) });
}

/** A model may pass an id of digits as a number. */
function readProcessId({ session_id, id }: ToolArguments): string {
  const value = session_id ?? id;
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
}

/** Input for a running shell may be as dangerous as a command, even in pieces. */
async function buildApprovalRequest(
  args: ToolArguments,
  context: ToolContext,
  askedLines: Set<string>,
): Promise<ApprovalRequest | undefined> {
  const { action, data } = args;
  if (action !== "write" && action !== "submit") return undefined;
  const id = readProcessId(args);
  const process = await findOwnProcess(id, context);
  const { judgeInputPiece, toLineKey } = await import("./process-actions.ts");
  const text = `${typeof data === "string" ? data : ""}${action === "submit" ? "\n" : ""}`;
  const { line, why, isUnclear } = await judgeInputPiece(text, process, context);
  if (why === undefined) return undefined;
  askedLines.add(toLineKey(id, line));
  return {
    title: `Send a running process a command that ${why}`,
    detail: `${escapeControls(line)}\n\nto ${id}`,
    // An approval of an unknown line covers only this input.
    ...(!isUnclear && { pattern: line.trim() }),
    onlyOnce: true, // the shell may change its folder before the next line
  };
}

/** Shows control characters as escapes, so that they do not control the terminal. */
function escapeControls(line: string): string {
  return line.trim().replace(/[^\P{Cc}\n\t]/gu, (sign) => JSON.stringify(sign).slice(1, -1));
}

function toErrorOutput(error: string): ToolOutput {
  return toJsonOutput({ error }, true);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

const DESCRIPTION = `Manages processes that the tool terminal started in the background. Actions:
list: lists the processes of this conversation. poll: the state and the latest output. log: lines of the output.
wait: waits for the end. kill: ends it with its child processes. write: writes text to its input. submit: the same, plus Enter.`;

const ID: Readonly<Record<string, unknown>> = {
  type: ["string", "integer"],
  description: "The id that terminal returned; for every action except list.",
};

const INPUT: Tool["input"] = {
  type: "object",
  properties: {
    // Not an enum: our own error lists the valid actions.
    action: { type: "string", description: `One of: ${ACTION_NAMES.join(", ")}.` },
    session_id: ID,
    id: { ...ID, description: "The same as session_id." },
    data: { type: "string", description: "The text to write or submit." },
    timeout: { type: "number", description: "Seconds to wait." },
    offset: {
      type: "integer",
      minimum: 0,
      description: "For log: the first line, from 0; by default the last lines.",
    },
    limit: { type: "integer", minimum: 1, description: "For log: the number of lines; default 200." },
  },
  required: ["action"],
};
