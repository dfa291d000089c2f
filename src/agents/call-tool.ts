import { type ApprovalOutcome, isYes } from "../core/approval.ts";
import { type ToolCall, textPart } from "../core/message.ts";
import type { AgentEvent } from "../ports/agent.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { awaitUnlessAborted } from "./await-unless-aborted.ts";
import { checkToolArguments } from "./check-tool-arguments.ts";
import { shortenOutput } from "./shorten-output.ts";

/** A tool that is stopped has this long to put its things away; less than whoever stopped the agent waits for it. */
const GRACE_MS = 500;

/** A call as a model makes it: the tool may not exist, and what it is given may be anything. */
export interface RequestedCall extends Omit<ToolCall, "effect"> {
  /** Why it cannot be done, where that is known already. */
  readonly wrong?: string;
}

/** A call that has been told, and is done when somebody says so. */
export interface AnnouncedCall {
  readonly id: string;
  readonly name: string;
  /** There is no such tool, or it does not take these arguments. */
  readonly isInvalid: boolean;
  execute(): Promise<ToolOutput>;
}

/** One call from the question whether it may to its result. Nothing when it was stopped. */
export async function* callTool(
  wanted: RequestedCall,
  tools: readonly Tool[],
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, ToolOutput | undefined> {
  const told = yield* announceCall(wanted, tools, signal);
  return told === undefined ? undefined : yield* executeCall(told, signal);
}

/**
 * Asks the person, where the tool wants that, and tells the call. What they do not allow, and what cannot be done, is a
 * call that acts on nothing and has failed. Nothing when it was stopped.
 */
export async function* announceCall(
  { wrong: known, ...call }: RequestedCall,
  tools: readonly Tool[],
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, AnnouncedCall | undefined> {
  const { id, name, arguments: given } = call;
  const tool = tools.find((offered) => offered.name === name);
  const wrong =
    known ?? (tool === undefined ? formatUnknownTool(name, tools) : await checkToolArguments(tool, given));
  if (signal.aborted) return undefined;
  const denied =
    tool !== undefined && wrong === undefined ? yield* askForApproval(tool, call, signal) : undefined;
  if (signal.aborted) return undefined;
  const why = wrong ?? denied;
  if (tool === undefined || why !== undefined) {
    yield { type: "tool_call", call };
    const isWrong = wrong !== undefined;
    return {
      id,
      name,
      isInvalid: isWrong,
      execute: async () => toFailedOutput(why ?? formatUnknownTool(name, tools)),
    };
  }
  const effect = tool.getEffect?.(given) ?? tool.effect;
  yield { type: "tool_call", call: { ...call, ...(effect === "external" && { effect }) } };
  return { id, name, isInvalid: false, execute: () => tool.run(given, { id, signal }) };
}

/** Acts, now that whoever reads has asked for more, and tells the result. A call that is stopped has none. */
export async function* executeCall(
  { id, name, execute }: AnnouncedCall,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, ToolOutput | undefined> {
  if (signal.aborted) return undefined;
  const acted = await awaitUnlessAborted(catchFailure(name, execute), signal, GRACE_MS);
  if (acted === undefined || signal.aborted) return undefined;
  const output = shortenOutput(acted);
  yield { type: "tool_result", id, name, ...output };
  return output;
}

export function toFailedOutput(sentence: string): ToolOutput {
  return { parts: [textPart(sentence)], failed: true };
}

/** Why it is not done, if the person has to be asked and has not said yes. */
async function* askForApproval(
  tool: Tool,
  call: ToolCall,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, string | undefined> {
  const request = await tool.buildApprovalRequest?.(call.arguments);
  if (request === undefined) return undefined;
  const { promise, resolve } = Promise.withResolvers<ApprovalOutcome>();
  yield { type: "approval", request, call, answer: resolve };
  const answer = (await awaitUnlessAborted(promise, signal)) ?? "deny";
  return isYes(answer) ? undefined : formatDenial(tool.name, answer);
}

/** A no is to be taken as one; whoever was away may still want it. */
function formatDenial(name: string, answer: ApprovalOutcome): string {
  if (answer === "expired")
    return `Nobody answered in time whether ${name} may do this, so it was not done. The person may be away: ask them before you try it again.`;
  if (answer === "unasked")
    return `${name} may do this only when the person allows it, and here nobody can be asked, so it was not done.`;
  return `The person did not allow ${name}.`;
}

/** A tool that breaks its promise and throws has failed like any other. */
async function catchFailure(name: string, act: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await act();
  } catch (error) {
    return toFailedOutput(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function formatUnknownTool(name: string, tools: readonly Tool[]): string {
  const names = tools.map((tool) => tool.name).join(", ");
  return `There is no tool ${name}.${names === "" ? "" : ` There are: ${names}.`}`;
}
