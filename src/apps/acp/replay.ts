import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { getText, type Message, type Part, type ToolCall } from "../../core/message.ts";
import type { PlanEntry } from "../../core/turn.ts";
import { formatSummary } from "../../turns/request-summary.ts";
import { pairCallResults } from "./call-results.ts";
import { type CallTracker, callTracker } from "./call-tracker.ts";
import { loadContentBlocks } from "./content.ts";
import { inferOldText, readOldText } from "./old-text.ts";
import { buildToolCard, buildToolOutcome, type ToolOutcomeFields } from "./tool-card.ts";
import { toSingleLine } from "./truncate-text.ts";

/** The folder of a session, and the reader for the bytes of its messages. */
export interface ReplayInput {
  readonly cwd?: string | undefined;
  blob(hash: string): Promise<Uint8Array | undefined>;
}

/** The state of one session in one editor that later updates depend on. */
export interface ReplayContext extends ReplayInput {
  readonly calls: CallTracker;
}

export function buildReplayContext({ cwd, blob }: ReplayInput): ReplayContext {
  return { cwd, blob, calls: callTracker() };
}

export interface ReplayOptions extends ReplayInput {
  /** Cleared first. Pass it on to later updates, so that results find their calls. */
  readonly calls?: CallTracker;
  /** Whether a turn runs: then its calls without a result are in progress. */
  readonly isRunning?: boolean | undefined;
}

/** The updates that show a whole session: all messages in order, and each call once, with its result. */
export async function* replayHistory(
  history: readonly Message[],
  options: ReplayOptions,
): AsyncGenerator<SessionUpdate> {
  const { cwd, blob, calls = callTracker() } = options;
  const context: ReplayContext = { cwd, blob, calls };
  calls.clear();
  const { resultsAt, resultIndexes } = pairCallResults(history);
  const runsFrom = options.isRunning ? findRunningPrompt(history) : history.length;
  for (const [at, message] of history.entries()) {
    if (resultIndexes.has(at)) continue;
    const results = resultsAt.get(at) ?? [];
    yield* await toUpdates(message, context, { results, isRunning: at > runsFrom });
  }
}

/** The index of the last prompt, unless its answer was interrupted: then the running turn answers a later prompt. */
function findRunningPrompt(history: readonly Message[]): number {
  const last = history.findLastIndex(({ role }) => role === "user");
  const isEnded = history.slice(last + 1).some(({ origin }) => origin?.interrupted === true);
  return isEnded ? history.length : last;
}

/** A new message of another client. The results of its calls may be the next messages. */
export function toSessionUpdates(message: Message, context: ReplayContext): Promise<SessionUpdate[]> {
  return toUpdates(message, context, { results: [], isRunning: true });
}

export function toPlanUpdate(entries: readonly PlanEntry[]): SessionUpdate {
  return {
    sessionUpdate: "plan",
    entries: entries.map(({ text, state }) => ({ content: text, priority: "medium", status: state })),
  };
}

/** A call that starts now. */
export function openCallUpdate(call: ToolCall, seq: number, { calls, cwd }: ReplayContext): SessionUpdate {
  const toolCallId = calls.claimId(call.id, seq);
  const old = readOldText(call, cwd);
  calls.open({ toolCallId, call, oldText: old }, seq);
  return { sessionUpdate: "tool_call", toolCallId, ...buildToolCard(call, cwd, old), status: "in_progress" };
}

export interface ToolResult {
  readonly id: string;
  readonly name: string;
  readonly parts: readonly Part[];
  readonly failed?: boolean;
  /** For a result without a shown call, which gets its own card. */
  readonly seq?: number;
}

/** `attached` is the same as in `buildToolOutcome`. */
export function closeCallUpdate(
  { id, name, parts, failed = false, seq = 0 }: ToolResult,
  { calls, cwd }: ReplayContext,
  attached?: readonly ContentBlock[],
): SessionUpdate {
  const shown = calls.close(id);
  if (shown !== undefined) {
    const { toolCallId, call } = shown;
    const outcome = buildToolOutcome(call, parts, failed, cwd, attached, shown);
    return { sessionUpdate: "tool_call_update", toolCallId, ...outcome };
  }
  const call: ToolCall = { id, name, arguments: undefined };
  const outcome = buildToolOutcome(call, parts, failed, cwd, attached);
  return {
    sessionUpdate: "tool_call",
    toolCallId: calls.claimId(id, seq),
    ...buildToolCard(call, cwd),
    ...outcome,
  };
}

interface CallOutcomes {
  /** The result of each call, in order. */
  readonly results: readonly (Message | undefined)[];
  readonly isRunning: boolean;
}

async function toUpdates(
  message: Message,
  context: ReplayContext,
  calls: CallOutcomes,
): Promise<SessionUpdate[]> {
  const id = `${message.session}:${message.seq}`;
  switch (message.role) {
    case "user":
      return (await loadBlocks(message.parts, context)).map((block) =>
        toChunk("user_message_chunk", block, id),
      );
    case "assistant":
      return toAssistantUpdates(message, id, context, calls);
    case "tool":
      return [await toUnpairedResult(message, context)];
    default:
      return toNoteUpdates(message, id, context);
  }
}

async function toAssistantUpdates(
  message: Message,
  id: string,
  context: ReplayContext,
  { results, isRunning }: CallOutcomes,
): Promise<SessionUpdate[]> {
  const { reasoning = "", toolCalls = [], parts } = message;
  const plan = readPlan(message);
  const updates: SessionUpdate[] = [];
  if (reasoning !== "") updates.push(toChunk("agent_thought_chunk", toTextBlock(reasoning), id));
  for (const block of await loadBlocks(parts, context))
    updates.push(toChunk("agent_message_chunk", block, id));
  if (plan !== undefined) updates.push(toPlanUpdate(plan));
  for (const [at, call] of toolCalls.entries()) {
    const result = results[at];
    if (result === undefined && isRunning) {
      updates.push(openCallUpdate(call, message.seq, context));
      continue;
    }
    const outcome =
      result === undefined
        ? buildInterruptedOutcome(call, context)
        : await buildOutcome(call, result, context);
    const toolCallId = context.calls.claimId(call.id, message.seq);
    const old = inferOldText(result?.parts ?? []);
    updates.push({
      sessionUpdate: "tool_call",
      toolCallId,
      ...buildToolCard(call, context.cwd, old),
      ...outcome,
    });
  }
  const end = describeEnd(message);
  // With its own id, so that it does not become part of the answer.
  if (end !== undefined)
    updates.push(toChunk("agent_message_chunk", toSeparateBlock(`_${end}_`), `${id}:end`));
  return updates;
}

/** A result whose call is not in the history, or is shown as in progress. */
async function toUnpairedResult(message: Message, context: ReplayContext): Promise<SessionUpdate> {
  const { toolCallId = "", toolName = "tool", parts, seq } = message;
  const result = { id: toolCallId, name: toolName, parts, failed: hasFailed(message), seq };
  return closeCallUpdate(result, context, await loadAttachments(message, context));
}

async function toNoteUpdates(message: Message, id: string, context: ReplayContext): Promise<SessionUpdate[]> {
  const text = getText(message);
  const attached = await loadAttachments(message, context);
  const updates =
    text === "" ? [] : [toSeparateBlock(formatNote(text, message.extra?.summary === true)), ...attached];
  return (text === "" ? attached : updates).map((block) => toChunk("agent_message_chunk", block, id));
}

function formatNote(text: string, isSummary: boolean): string {
  if (!isSummary) return `_Note:_ ${text}`;
  const heading = formatSummary("");
  return `_${heading.trim()}_\n\n${text.startsWith(heading) ? text.slice(heading.length) : text}`;
}

/** Why an answer is incomplete. */
function describeEnd({ origin, extra }: Message): string | undefined {
  if (typeof extra?.error === "string" && extra.error !== "") return toSingleLine(extra.error);
  return origin?.interrupted === true ? "(stopped)" : undefined;
}

/** The plan of an answer, if `extra.plan` has the format that Postrider writes. */
function readPlan({ extra }: Message): readonly PlanEntry[] | undefined {
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

async function buildOutcome(
  call: ToolCall,
  result: Message,
  context: ReplayContext,
): Promise<ToolOutcomeFields> {
  const attached = await loadAttachments(result, context);
  const old = inferOldText(result.parts);
  return buildToolOutcome(call, result.parts, hasFailed(result), context.cwd, attached, { oldText: old });
}

function buildInterruptedOutcome(call: ToolCall, { cwd }: ReplayContext): ToolOutcomeFields {
  const sentence = "Interrupted: no result was stored. The call may have run, completely or in part.";
  const { content } = buildToolCard(call, cwd);
  return { status: "failed", content: [...content, { type: "content", content: toTextBlock(sentence) }] };
}

function hasFailed({ finishReason, origin }: Message): boolean {
  return finishReason === "error" || origin?.interrupted === true;
}

async function loadBlocks(parts: readonly Part[], { blob }: ReplayContext): Promise<ContentBlock[]> {
  return loadContentBlocks(parts, blob);
}

async function loadAttachments({ parts }: Message, context: ReplayContext): Promise<ContentBlock[]> {
  const others = parts.filter(({ type }) => type !== "text");
  return others.length === 0 ? [] : loadBlocks(others, context);
}

function toTextBlock(text: string): ContentBlock {
  return { type: "text", text };
}

/** Blank lines around the text: many editors join chunks directly. */
function toSeparateBlock(markdown: string): ContentBlock {
  return toTextBlock(`\n\n${markdown}\n\n`);
}

function toChunk(
  sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk",
  content: ContentBlock,
  messageId: string,
): SessionUpdate {
  return { sessionUpdate, content, messageId };
}
