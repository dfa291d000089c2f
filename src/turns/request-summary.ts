import { getText, type Message, textPart } from "../core/message.ts";
import { providerHistory } from "../core/projection.ts";
import { joinDeltas, omitPromptTokens, type UsageDelta } from "../core/usage.ts";
import type { Agent } from "../ports/agent.ts";
import { readEventsUntil } from "./read-events-until.ts";
import { estimateTokens } from "./summary-tail.ts";

export const SUMMARY_REQUEST =
  "Write a summary of this conversation, in its language. It will stand in place of everything above, for you to go on with: keep who wants what, names, numbers, dates, addresses and file names as they were written, what was decided and why, what tools did and found, what was promised, and what is still open. Leave out greetings and detours. Answer with the summary alone.";

const SUMMARY_TIMEOUT_MS = 120_000;
/** A model that cannot read a sixteenth of its configured window has a wrong configuration. */
const MAX_HALVINGS = 4;
/** The limit of a tool result, in tokens: the answer after it tells its content. */
const MAX_RESULT_TOKENS = 2_000;

export interface SummaryInput {
  readonly agent: Agent;
  readonly session: string;
  readonly model?: string;
  /** The messages to summarise, in order. */
  readonly messages: readonly Message[];
  /** The limit of one request; more messages are summarised step by step. */
  readonly maxTokens: number;
}

export interface SummaryResult {
  /** Absent when there is none; then `reason` says why. */
  readonly text?: string;
  readonly reason?: string;
  /** The usage of all requests, also of failed ones. */
  readonly usage?: UsageDelta;
}

/** Asks the agent for a summary, without tools. If the model finds a request too long, the limit is halved. */
export async function requestSummary(input: SummaryInput, signal: AbortSignal): Promise<SummaryResult> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(SUMMARY_TIMEOUT_MS)]);
  let maxTokens = Math.min(input.maxTokens, estimateTokens(input.messages));
  let usage: UsageDelta | undefined;
  for (let halvings = 0; ; halvings += 1) {
    const { tooLong, ...summary } = await requestInSteps({ ...input, maxTokens }, until);
    if (summary.usage !== undefined) usage = mergeUsage(usage, summary.usage);
    if (tooLong && halvings < MAX_HALVINGS && !until.aborted) {
      maxTokens = Math.ceil(maxTokens / 2);
      continue;
    }
    const spent = usage === undefined ? {} : { usage };
    if (!until.aborted) return { ...summary, ...spent };
    return { reason: signal.aborted ? "It was stopped." : "It took too long.", ...spent };
  }
}

type SummaryStep = SummaryResult & { readonly tooLong?: true };

async function requestInSteps(input: SummaryInput, signal: AbortSignal): Promise<SummaryStep> {
  const maxLength = estimateTokens(input.messages);
  let usage: UsageDelta | undefined;
  let summary = "";
  for (const slice of splitMessages(input.messages, input.maxTokens)) {
    const history = summary === "" ? slice : [buildSummaryNote(summary, input.session), ...slice];
    const step = await requestOnce(input, history, maxLength, signal);
    if (step.usage !== undefined) usage = mergeUsage(usage, step.usage);
    if (step.text === undefined) return { ...step, ...(usage !== undefined && { usage }) };
    summary = step.text;
  }
  return { text: summary, ...(usage !== undefined && { usage }) };
}

async function requestOnce(
  { agent, session, model }: SummaryInput,
  messages: readonly Message[],
  maxLength: number,
  signal: AbortSignal,
): Promise<SummaryStep> {
  const request: Message = {
    session,
    seq: (messages.at(-1)?.seq ?? 0) + 1,
    at: 0,
    role: "user",
    parts: [textPart(SUMMARY_REQUEST)],
  };
  const turn = {
    session,
    history: [...providerHistory(messages), request],
    // A summary contains no images, only their names.
    blob: async () => undefined,
    ...(model !== undefined && { model }),
  };
  let text = "";
  let usage: UsageDelta | undefined;
  let reason: string | undefined;
  let tooLong = false;
  try {
    for await (const event of readEventsUntil(signal, agent.run(turn, signal))) {
      if (event.type === "usage") usage = mergeUsage(usage, event.usage);
      else if (event.type === "text") text += event.text;
      else if (event.type === "failed") [reason, tooLong] = [event.reason, event.tooLong === true];
      else if (event.type === "tool_call" || event.type === "approval") reason = "It called a tool instead.";
      if (estimateTokens([{ parts: [textPart(text)] }]) >= maxLength)
        reason = "The summary became longer than what it sums up.";
      // A tool runs only when the next event is read, so it does not run.
      if (reason !== undefined && event.type !== "usage" && event.type !== "failed") break;
    }
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  const spent = usage === undefined ? {} : { usage };
  if (reason !== undefined) return { reason, ...(tooLong && { tooLong }), ...spent };
  const summary = text.trim().toWellFormed();
  return summary === "" ? { reason: "The summary was empty.", ...spent } : { text: summary, ...spent };
}

/** Splits messages into slices below the limit, and shortens a message that is longer than the limit. */
function splitMessages(messages: readonly Message[], maxTokens: number): readonly (readonly Message[])[] {
  const result: Message[][] = [];
  let slice: Message[] = [];
  let size = 0;
  for (const message of messages) {
    const short = shortenMessage(message, maxTokens);
    const more = estimateTokens([short]);
    // The result of a tool stays with its call.
    if (slice.length > 0 && size + more > maxTokens && message.role !== "tool") {
      result.push(slice);
      [slice, size] = [[], 0];
    }
    slice.push(short);
    size += more;
  }
  if (slice.length > 0) result.push(slice);
  return result;
}

/** No message gets more than a quarter of the limit, so that one long output leaves room for the rest. */
function shortenMessage(message: Message, maxTokens: number): Message {
  const quarter = Math.max(200, Math.floor(maxTokens / 4));
  const limit = message.role === "tool" ? Math.min(quarter, MAX_RESULT_TOKENS) : quarter;
  const size = estimateTokens([message]);
  if (size <= limit) return message;
  const text = getText(message);
  const half = Math.floor((text.length * limit) / size / 2);
  const { toolCalls, ...rest } = message;
  const calls = toolCalls?.map((call) => ({
    ...call,
    arguments: JSON.stringify(call.arguments)?.slice(0, 500) ?? "",
  }));
  const shortened = `${text.slice(0, half)}\n[…]\n${half === 0 ? "" : text.slice(-half)}`;
  return {
    ...rest,
    parts: [textPart(shortened.toWellFormed())],
    ...(calls !== undefined && { toolCalls: calls }),
  };
}

export function buildSummaryNote(summary: string, session: string): Message {
  return { session, seq: 0, at: 0, role: "note", parts: [textPart(formatSummary(summary))] };
}

export function formatSummary(summary: string): string {
  return `Summary of what was said before:\n\n${summary}`;
}

/** Adds usage, without the prompt size: the prompt of a summary is not that of the conversation. */
function mergeUsage(earlier: UsageDelta | undefined, more: UsageDelta): UsageDelta {
  return joinDeltas(earlier, omitPromptTokens(more));
}
