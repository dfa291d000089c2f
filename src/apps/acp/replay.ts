import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { getText, type Message, type Part, type ToolCall } from "../../core/message.ts";
import type { PlanEntry } from "../../core/plan.ts";
import { formatSummary } from "../../turns/request-summary.ts";
import { pairCallResults } from "./call-results.ts";
import { type CallTracker, callTracker } from "./call-tracker.ts";
import { loadContentBlocks } from "./content.ts";
import { inferOldText, readOldText } from "./old-text.ts";
import { buildToolCard, buildToolOutcome, type ToolOutcomeFields } from "./tool-card.ts";
import { toSingleLine } from "./truncate-text.ts";

/** Where a session is shown: its folder, and how the bytes that its messages name are read. */
export interface ReplayInput {
  readonly cwd?: string | undefined;
  blob(hash: string): Promise<Uint8Array | undefined>;
}

/** What one editor was shown of one session, as far as what comes next depends on it. */
export interface ReplayContext extends ReplayInput {
  readonly calls: CallTracker;
}

export function buildReplayContext({ cwd, blob }: ReplayInput): ReplayContext {
  return { cwd, blob, calls: callTracker() };
}

export interface ReplayOptions extends ReplayInput {
  /** Of whoever goes on afterwards, so that results still to come find their calls. They are begun anew. */
  readonly calls?: CallTracker;
  /** A turn runs: its calls that have no result are being done. */
  readonly isRunning?: boolean | undefined;
}

/** A session as an editor shows it: everything said, in order, and each call once, as it ended. */
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

/** The place of the last prompt, unless its answer was broken off: then what runs is an answer to a later one. */
function findRunningPrompt(history: readonly Message[]): number {
  const last = history.findLastIndex(({ role }) => role === "user");
  const isEnded = history.slice(last + 1).some(({ origin }) => origin?.interrupted === true);
  return isEnded ? history.length : last;
}

/** A message that has just been said elsewhere. Its calls wait for results, which may be the next messages. */
export function toSessionUpdates(message: Message, context: ReplayContext): Promise<SessionUpdate[]> {
  return toUpdates(message, context, { results: [], isRunning: true });
}

export function toPlanUpdate(entries: readonly PlanEntry[]): SessionUpdate {
  return {
    sessionUpdate: "plan",
    entries: entries.map(({ text, state }) => ({ content: text, priority: "medium", status: state })),
  };
}

/** A call that is being done from now on. */
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
  /** For a result whose call was never shown, which then has a card of its own. */
  readonly seq?: number;
}

/** `attached` is as in `toolOutcome`. */
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
  /** Of each call, in order; absent where there is none. */
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
  const told: SessionUpdate[] = [];
  if (reasoning !== "") told.push(toChunk("agent_thought_chunk", toTextBlock(reasoning), id));
  for (const block of await loadBlocks(parts, context)) told.push(toChunk("agent_message_chunk", block, id));
  if (plan !== undefined) told.push(toPlanUpdate(plan));
  for (const [at, call] of toolCalls.entries()) {
    const result = results[at];
    if (result === undefined && isRunning) {
      told.push(openCallUpdate(call, message.seq, context));
      continue;
    }
    const outcome =
      result === undefined
        ? buildInterruptedOutcome(call, context)
        : await buildOutcome(call, result, context);
    const toolCallId = context.calls.claimId(call.id, message.seq);
    const old = inferOldText(result?.parts ?? []);
    told.push({
      sessionUpdate: "tool_call",
      toolCallId,
      ...buildToolCard(call, context.cwd, old),
      ...outcome,
    });
  }
  const end = describeEnd(message);
  // Under a name of its own, so that the answer's text stays what was said.
  if (end !== undefined) told.push(toChunk("agent_message_chunk", toSeparateBlock(`_${end}_`), `${id}:end`));
  return told;
}

/** A tool's answer whose call is not in the history, or is one that an editor waits for. */
async function toUnpairedResult(message: Message, context: ReplayContext): Promise<SessionUpdate> {
  const { toolCallId = "", toolName = "tool", parts, seq } = message;
  const result = { id: toolCallId, name: toolName, parts, failed: hasFailed(message), seq };
  return closeCallUpdate(result, context, await loadAttachments(message, context));
}

async function toNoteUpdates(message: Message, id: string, context: ReplayContext): Promise<SessionUpdate[]> {
  const said = getText(message);
  const more = await loadAttachments(message, context);
  const told =
    said === "" ? [] : [toSeparateBlock(formatNote(said, message.extra?.summary === true)), ...more];
  return (said === "" ? more : told).map((block) => toChunk("agent_message_chunk", block, id));
}

function formatNote(said: string, isSummary: boolean): string {
  if (!isSummary) return `_Note:_ ${said}`;
  const heading = formatSummary("");
  return `_${heading.trim()}_\n\n${said.startsWith(heading) ? said.slice(heading.length) : said}`;
}

/** How an answer ended that is not whole. */
function describeEnd({ origin, extra }: Message): string | undefined {
  if (typeof extra?.error === "string" && extra.error !== "") return toSingleLine(extra.error);
  return origin?.interrupted === true ? "(stopped)" : undefined;
}

/** It was shown as `planUpdate`; what is no plan is somebody else's. */
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
  const sentence = "Interrupted: no result was recorded. It may have been done, wholly or in part.";
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

/** Set apart: many editors put one chunk directly after the other. */
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
