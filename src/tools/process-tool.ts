import type { ApprovalRequest } from "../core/approval.ts";
import { isProcessId, LISTED_AFTER_END_MS, type Process } from "../core/process.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { describeProcess, toJsonOutput } from "./describe-process.ts";
import type { ProcessActionRequest } from "./process-actions.ts";
import { runToolAction, type ToolArguments, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

const ACTION_NAMES: readonly string[] = ["list", "poll", "log", "wait", "kill", "write", "submit"];
/** These change something outside. */
const CHANGING_ACTIONS: readonly string[] = ["kill", "write", "submit"];

/** Looks at what was started in the background, speaks to it and ends it. Only what belongs to this conversation is there. */
export function processTool(hands: ToolContext): Tool {
  // Of this turn: what a person was asked about, so that nothing else is written in its place.
  const asked = new Set<string>();
  return {
    name: "process",
    description: DESCRIPTION,
    input: INPUT,
    effect: "external",
    getEffect: (given) =>
      CHANGING_ACTIONS.includes(String(toToolArguments(given).action)) ? "external" : "none",
    buildApprovalRequest: (given) => buildApprovalRequest(toToolArguments(given), hands, asked),
    run: (given, { signal }) =>
      runToolAction(
        () => runAction(toToolArguments(given), { context: hands, signal, askedLines: asked }),
        toErrorOutput,
      ),
  };
}

async function runAction(
  given: ToolArguments,
  { context, signal, askedLines }: Pick<ProcessActionRequest, "context" | "signal" | "askedLines">,
): Promise<ToolOutput> {
  const name = typeof given.action === "string" ? given.action : "";
  if (name === "list") return listProcesses(context);
  const { PROCESS_ACTIONS: ACTIONS } = await import("./process-actions.ts");
  const action = Object.entries(ACTIONS).find(([known]) => known === name)?.[1];
  if (action === undefined)
    return toErrorOutput(`There is no action ${quote(name)}. Use: ${ACTION_NAMES.join(", ")}.`);
  const id = readProcessId(given);
  if (id === "") return toErrorOutput(`session_id is missing: ${name} needs the id of a process.`);
  const process = await findOwnProcess(id, context);
  if (process === undefined)
    return toJsonOutput(
      {
        status: "not_found",
        error: `No process ${quote(id)} belongs to this conversation. See action list.`,
      },
      true,
    );
  return action({ process, args: given, context, signal, askedLines });
}

/** Someone else's process and no process look the same. */
async function findOwnProcess(
  id: string,
  { store, asker, conversation }: ToolContext,
): Promise<Process | undefined> {
  const found = isProcessId(id) ? await store.processes.getProcess({ asker, id }) : undefined;
  return found?.conversation === conversation ? found : undefined;
}

async function listProcesses(hands: ToolContext): Promise<ToolOutput> {
  const { store, asker, conversation, clock } = hands;
  const now = clock.now();
  const processes = await store.processes.listProcesses({
    asker,
    conversation,
    endedSince: now - LISTED_AFTER_END_MS,
  });
  return toJsonOutput({ processes: processes.map((process) => describeProcess(process, now)) });
}

/** A model may well take what looks like a number for one. */
function readProcessId({ session_id, id }: ToolArguments): string {
  const given = session_id ?? id;
  return typeof given === "string" || typeof given === "number" ? String(given).trim() : "";
}

/** A line that a running shell is given may be as dangerous as a command, also when it comes in pieces. */
async function buildApprovalRequest(
  given: ToolArguments,
  hands: ToolContext,
  asked: Set<string>,
): Promise<ApprovalRequest | undefined> {
  const { action, data } = given;
  if (action !== "write" && action !== "submit") return undefined;
  const id = readProcessId(given);
  const process = await findOwnProcess(id, hands);
  const { judgeInputPiece: judgePiece, toLineKey: lineKey } = await import("./process-actions.ts");
  const text = `${typeof data === "string" ? data : ""}${action === "submit" ? "\n" : ""}`;
  const { line, why, isUnclear } = await judgePiece(text, process, hands);
  if (why === undefined) return undefined;
  asked.add(lineKey(id, line));
  return {
    title: `Give a running program a command that ${why}`,
    detail: `${escapeControls(line)}\n\nto ${id}`,
    // A line that is not known as a whole is allowed this once.
    ...(!isUnclear && { pattern: line.trim() }),
    onlyOnce: true, // a shell may be in another folder by the next time
  };
}

/** Control characters are shown, or a terminal would act on them. */
function escapeControls(line: string): string {
  return line.trim().replace(/[^\P{Cc}\n\t]/gu, (sign) => JSON.stringify(sign).slice(1, -1));
}

function toErrorOutput(error: string): ToolOutput {
  return toJsonOutput({ error }, true);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

const DESCRIPTION = `Looks after processes that terminal has started in the background. Actions:
list: those of this conversation. poll: how one is, and the last of what it printed. log: lines of what it printed.
wait: until it ends. kill: end it and all it has started. write: text into its input, as it is. submit: the same, and Enter.`;

const ID: Readonly<Record<string, unknown>> = {
  type: ["string", "integer"],
  description: "The id that terminal gave back; for every action but list.",
};

const INPUT: Tool["input"] = {
  type: "object",
  properties: {
    // Not an enumeration: what is wrong with an action is said here, with all that there are.
    action: { type: "string", description: `One of: ${ACTION_NAMES.join(", ")}.` },
    session_id: ID,
    id: { ...ID, description: "The same as session_id." },
    data: { type: "string", description: "What to write or submit." },
    timeout: { type: "number", description: "Seconds to wait." },
    offset: {
      type: "integer",
      minimum: 0,
      description: "For log: the first line, from 0; else the last lines.",
    },
    limit: { type: "integer", minimum: 1, description: "For log: how many lines; 200 unless said." },
  },
  required: ["action"],
};
