import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { type Message, type Part, type ToolCall, textOf } from "../../core/message.ts";
import type { PlanEntry } from "../../core/plan.ts";
import { summaryText } from "../../turns/ask-summary.ts";
import { resultsIn } from "./call-results.ts";
import { blocksOf } from "./content.ts";
import { oldTextAfter, oldTextFor } from "./old-text.ts";
import { oneLine } from "./short-text.ts";
import { type ShownCalls, shownCalls } from "./shown-calls.ts";
import { type ToolOutcomeFields, toolCard, toolOutcome } from "./tool-card.ts";

/** Where a session is shown: its folder, and how the bytes that its messages name are read. */
export interface ShownPlace {
  readonly cwd?: string | undefined;
  blob(hash: string): Promise<Uint8Array | undefined>;
}

/** What one editor was shown of one session, as far as what comes next depends on it. */
export interface Replaying extends ShownPlace {
  readonly calls: ShownCalls;
}

export function replaying({ cwd, blob }: ShownPlace): Replaying {
  return { cwd, blob, calls: shownCalls() };
}

export interface ReplayOptions extends ShownPlace {
  /** Of whoever goes on afterwards, so that results still to come find their calls. They are begun anew. */
  readonly calls?: ShownCalls;
  /** A turn runs: its calls that have no result are being done. */
  readonly isRunning?: boolean | undefined;
}

/** A session as an editor shows it: everything said, in order, and each call once, as it ended. */
export async function* replay(
  history: readonly Message[],
  options: ReplayOptions,
): AsyncGenerator<SessionUpdate> {
  const { cwd, blob, calls = shownCalls() } = options;
  const context: Replaying = { cwd, blob, calls };
  calls.forget();
  const { resultsAt, taken } = resultsIn(history);
  const runsFrom = options.isRunning ? lastUnended(history) : history.length;
  for (const [at, message] of history.entries()) {
    if (taken.has(at)) continue;
    const results = resultsAt.get(at) ?? [];
    yield* await updates(message, context, { results, isRunning: at > runsFrom });
  }
}

/** The place of the last prompt, unless its answer was broken off: then what runs is an answer to a later one. */
function lastUnended(history: readonly Message[]): number {
  const last = history.findLastIndex(({ role }) => role === "user");
  const isEnded = history.slice(last + 1).some(({ origin }) => origin?.interrupted === true);
  return isEnded ? history.length : last;
}

/** A message that has just been said elsewhere. Its calls wait for results, which may be the next messages. */
export function updatesOf(message: Message, context: Replaying): Promise<SessionUpdate[]> {
  return updates(message, context, { results: [], isRunning: true });
}

export function planUpdate(entries: readonly PlanEntry[]): SessionUpdate {
  return {
    sessionUpdate: "plan",
    entries: entries.map(({ text, state }) => ({ content: text, priority: "medium", status: state })),
  };
}

/** A call that is being done from now on. */
export function callUpdate(call: ToolCall, seq: number, { calls, cwd }: Replaying): SessionUpdate {
  const toolCallId = calls.idFor(call.id, seq);
  const old = oldTextFor(call, cwd);
  calls.open({ toolCallId, call, old }, seq);
  return { sessionUpdate: "tool_call", toolCallId, ...toolCard(call, cwd, old), status: "in_progress" };
}

export interface ToolResult {
  readonly id: string;
  readonly name: string;
  readonly parts: readonly Part[];
  readonly failed?: boolean;
  /** For a result whose call was never shown, which then has a card of its own. */
  readonly seq?: number;
}

/** `attached` is as in `toolOutcome`. */
export function resultUpdate(
  { id, name, parts, failed = false, seq = 0 }: ToolResult,
  { calls, cwd }: Replaying,
  attached?: readonly ContentBlock[],
): SessionUpdate {
  const shown = calls.close(id);
  if (shown !== undefined) {
    const { toolCallId, call } = shown;
    const outcome = toolOutcome(call, parts, failed, cwd, attached, shown);
    return { sessionUpdate: "tool_call_update", toolCallId, ...outcome };
  }
  const call: ToolCall = { id, name, arguments: undefined };
  const outcome = toolOutcome(call, parts, failed, cwd, attached);
  return { sessionUpdate: "tool_call", toolCallId: calls.idFor(id, seq), ...toolCard(call, cwd), ...outcome };
}

interface CallsOf {
  /** Of each call, in order; absent where there is none. */
  readonly results: readonly (Message | undefined)[];
  readonly isRunning: boolean;
}

async function updates(message: Message, context: Replaying, calls: CallsOf): Promise<SessionUpdate[]> {
  const id = `${message.session}:${message.seq}`;
  switch (message.role) {
    case "user":
      return (await blocks(message.parts, context)).map((block) => chunk("user_message_chunk", block, id));
    case "assistant":
      return answered(message, id, context, calls);
    case "tool":
      return [await unpaired(message, context)];
    default:
      return noted(message, id, context);
  }
}

async function answered(
  message: Message,
  id: string,
  context: Replaying,
  { results, isRunning }: CallsOf,
): Promise<SessionUpdate[]> {
  const { reasoning = "", toolCalls = [], parts } = message;
  const plan = planIn(message);
  const told: SessionUpdate[] = [];
  if (reasoning !== "") told.push(chunk("agent_thought_chunk", words(reasoning), id));
  for (const block of await blocks(parts, context)) told.push(chunk("agent_message_chunk", block, id));
  if (plan !== undefined) told.push(planUpdate(plan));
  for (const [at, call] of toolCalls.entries()) {
    const result = results[at];
    if (result === undefined && isRunning) {
      told.push(callUpdate(call, message.seq, context));
      continue;
    }
    const outcome =
      result === undefined ? interrupted(call, context) : await outcomeOf(call, result, context);
    const toolCallId = context.calls.idFor(call.id, message.seq);
    const old = oldTextAfter(result?.parts ?? []);
    told.push({ sessionUpdate: "tool_call", toolCallId, ...toolCard(call, context.cwd, old), ...outcome });
  }
  const end = endOf(message);
  // Under a name of its own, so that the answer's text stays what was said.
  if (end !== undefined) told.push(chunk("agent_message_chunk", aside(`_${end}_`), `${id}:end`));
  return told;
}

/** A tool's answer whose call is not in the history, or is one that an editor waits for. */
async function unpaired(message: Message, context: Replaying): Promise<SessionUpdate> {
  const { toolCallId = "", toolName = "tool", parts, seq } = message;
  const result = { id: toolCallId, name: toolName, parts, failed: hasFailed(message), seq };
  return resultUpdate(result, context, await attachedTo(message, context));
}

async function noted(message: Message, id: string, context: Replaying): Promise<SessionUpdate[]> {
  const said = textOf(message);
  const more = await attachedTo(message, context);
  const told = said === "" ? [] : [aside(note(said, message.extra?.summary === true)), ...more];
  return (said === "" ? more : told).map((block) => chunk("agent_message_chunk", block, id));
}

function note(said: string, isSummary: boolean): string {
  if (!isSummary) return `_Note:_ ${said}`;
  const heading = summaryText("");
  return `_${heading.trim()}_\n\n${said.startsWith(heading) ? said.slice(heading.length) : said}`;
}

/** How an answer ended that is not whole. */
function endOf({ origin, extra }: Message): string | undefined {
  if (typeof extra?.error === "string" && extra.error !== "") return oneLine(extra.error);
  return origin?.interrupted === true ? "(stopped)" : undefined;
}

/** It was shown as `planUpdate`; what is no plan is somebody else's. */
function planIn({ extra }: Message): readonly PlanEntry[] | undefined {
  const plan = extra?.plan;
  return Array.isArray(plan) && plan.every(isPlanEntry) ? plan : undefined;
}

function isPlanEntry(value: unknown): value is PlanEntry {
  if (typeof value !== "object" || value === null) return false;
  const { text, state } = value as Partial<Record<keyof PlanEntry, unknown>>;
  return (
    typeof text === "string" && (state === "pending" || state === "in_progress" || state === "completed")
  );
}

async function outcomeOf(call: ToolCall, result: Message, context: Replaying): Promise<ToolOutcomeFields> {
  const attached = await attachedTo(result, context);
  const old = oldTextAfter(result.parts);
  return toolOutcome(call, result.parts, hasFailed(result), context.cwd, attached, { old });
}

function interrupted(call: ToolCall, { cwd }: Replaying): ToolOutcomeFields {
  const sentence = "Interrupted: no result was recorded. It may have been done, wholly or in part.";
  const { content } = toolCard(call, cwd);
  return { status: "failed", content: [...content, { type: "content", content: words(sentence) }] };
}

function hasFailed({ finishReason, origin }: Message): boolean {
  return finishReason === "error" || origin?.interrupted === true;
}

async function blocks(parts: readonly Part[], { blob }: Replaying): Promise<ContentBlock[]> {
  return blocksOf(parts, blob);
}

async function attachedTo({ parts }: Message, context: Replaying): Promise<ContentBlock[]> {
  const others = parts.filter(({ type }) => type !== "text");
  return others.length === 0 ? [] : blocks(others, context);
}

function words(text: string): ContentBlock {
  return { type: "text", text };
}

/** Set apart: many editors put one chunk directly after the other. */
function aside(markdown: string): ContentBlock {
  return words(`\n\n${markdown}\n\n`);
}

function chunk(
  sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk",
  content: ContentBlock,
  messageId: string,
): SessionUpdate {
  return { sessionUpdate, content, messageId };
}
