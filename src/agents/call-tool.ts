import { type ApprovalOutcome, isYes } from "../core/approval.ts";
import { type ToolCall, textPart } from "../core/message.ts";
import type { AgentEvent } from "../ports/agent.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { awaitUnlessAborted } from "./await-unless-aborted.ts";
import { checkToolArguments } from "./check-tool-arguments.ts";
import { shortenOutput } from "./shorten-output.ts";

/** A stopped tool has this long to clean up; less than the stopper of the agent waits. */
const GRACE_MS = 500;

/** A call from a model: the tool may not exist, and the arguments may be anything. */
export interface RequestedCall extends Omit<ToolCall, "effect"> {
  /** Why the call cannot be made, if that is known already. */
  readonly invalidReason?: string;
}

/** A call whose event was emitted; `execute` runs the tool. */
export interface AnnouncedCall {
  readonly id: string;
  readonly name: string;
  /** The tool does not exist, or does not accept these arguments. */
  readonly isInvalid: boolean;
  execute(): Promise<ToolOutput>;
}

/** One call, from the approval to its result. `undefined` if it was stopped. */
export async function* callTool(
  call: RequestedCall,
  tools: readonly Tool[],
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, ToolOutput | undefined> {
  const announced = yield* announceCall(call, tools, signal);
  return announced === undefined ? undefined : yield* executeCall(announced, signal);
}

/**
 * Asks for an approval if the tool requires one, and emits the call. A denied or impossible call has no effect and a
 * failed result. `undefined` if it was stopped.
 */
export async function* announceCall(
  { invalidReason: known, ...call }: RequestedCall,
  tools: readonly Tool[],
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, AnnouncedCall | undefined> {
  const { id, name, arguments: args } = call;
  const tool = tools.find((offered) => offered.name === name);
  const invalidReason =
    known ?? (tool === undefined ? formatUnknownTool(name, tools) : await checkToolArguments(tool, args));
  if (signal.aborted) return undefined;
  const denied =
    tool !== undefined && invalidReason === undefined ? yield* askForApproval(tool, call, signal) : undefined;
  if (signal.aborted) return undefined;
  const reason = invalidReason ?? denied;
  if (tool === undefined || reason !== undefined) {
    yield { type: "tool_call", call };
    return {
      id,
      name,
      isInvalid: invalidReason !== undefined,
      execute: async () => toFailedOutput(reason ?? formatUnknownTool(name, tools)),
    };
  }
  const effect = tool.getEffect?.(args) ?? tool.effect;
  yield { type: "tool_call", call: { ...call, ...(effect === "external" && { effect }) } };
  return { id, name, isInvalid: false, execute: () => tool.run(args, { id, signal }) };
}

/** Runs the tool, after the reader of the events has asked for more, and emits the result. A stopped call has none. */
export async function* executeCall(
  { id, name, execute }: AnnouncedCall,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, ToolOutput | undefined> {
  if (signal.aborted) return undefined;
  const result = await awaitUnlessAborted(catchFailure(name, execute), signal, GRACE_MS);
  if (result === undefined || signal.aborted) return undefined;
  const output = shortenOutput(result);
  yield { type: "tool_result", id, name, ...output };
  return output;
}

export function toFailedOutput(sentence: string): ToolOutput {
  return { parts: [textPart(sentence)], failed: true };
}

/** The reason why the call is denied, if the tool requires an approval and the person has not given it. */
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

/** The model must accept a denial; after an expired request, the person may still want the call. */
function formatDenial(name: string, answer: ApprovalOutcome): string {
  if (answer === "expired")
    return `Nobody answered in time whether ${name} may do this, so it was not done. The person may be away: ask them before you try it again.`;
  if (answer === "unasked")
    return `${name} may do this only when the person allows it, and here nobody can be asked, so it was not done.`;
  return `The person did not allow ${name}.`;
}

/** A tool that throws, against its contract, has failed like any other. */
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
