import { getText, type Message, textPart } from "../core/message.ts";
import { providerHistory } from "../core/projection.ts";
import { joinDeltas, omitPromptTokens, type UsageDelta } from "../core/usage.ts";
import type { Agent } from "../ports/agent.ts";
import { readEventsUntil } from "./read-events-until.ts";
import { estimateTokens } from "./summary-tail.ts";

export const SUMMARY_REQUEST =
  "Write a summary of this conversation, in its language. It will stand in place of everything above, for you to go on with: keep who wants what, names, numbers, dates, addresses and file names as they were written, what was decided and why, what tools did and found, what was promised, and what is still open. Leave out greetings and detours. Answer with the summary alone.";

const SUMMARY_TIMEOUT_MS = 120_000;
/** A model that reads less than a sixteenth of what it was given is not the model we were told of. */
const MAX_HALVINGS = 4;
/** What a tool found is told by what was made of it. */
const LONGEST_RESULT = 2_000;

export interface SummaryInput {
  readonly agent: Agent;
  readonly session: string;
  readonly model?: string;
  /** What is to be summed up, in order. */
  readonly messages: readonly Message[];
  /** As much as the model is given at once; more than that is summed up step by step. */
  readonly mostTokens: number;
}

export interface SummaryResult {
  /** Absent when there is none; then `reason` says why. */
  readonly text?: string;
  readonly reason?: string;
  /** What asking has cost, also in vain. */
  readonly usage?: UsageDelta;
}

/**
 * Asks the agent to sum up what was said. It is let do nothing but speak. A model that reads less than it was thought to
 * is given less at once.
 */
export async function requestSummary(asked: SummaryInput, signal: AbortSignal): Promise<SummaryResult> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(SUMMARY_TIMEOUT_MS)]);
  let most = Math.min(asked.mostTokens, estimateTokens(asked.messages));
  let usage: UsageDelta | undefined;
  for (let halved = 0; ; halved += 1) {
    const { tooLong, ...summary } = await requestInSteps({ ...asked, mostTokens: most }, until);
    if (summary.usage !== undefined) usage = mergeUsage(usage, summary.usage);
    if (tooLong && halved < MAX_HALVINGS && !until.aborted) {
      most = Math.ceil(most / 2);
      continue;
    }
    const spent = usage === undefined ? {} : { usage };
    if (!until.aborted) return { ...summary, ...spent };
    return { reason: signal.aborted ? "It was stopped." : "It took too long.", ...spent };
  }
}

type SummaryStep = SummaryResult & { readonly tooLong?: true };

async function requestInSteps(asked: SummaryInput, signal: AbortSignal): Promise<SummaryStep> {
  const longest = estimateTokens(asked.messages);
  let usage: UsageDelta | undefined;
  let summary = "";
  for (const slice of splitMessages(asked.messages, asked.mostTokens)) {
    const history = summary === "" ? slice : [buildSummaryNote(summary, asked.session), ...slice];
    const step = await requestOnce(asked, history, longest, signal);
    if (step.usage !== undefined) usage = mergeUsage(usage, step.usage);
    if (step.text === undefined) return { ...step, ...(usage !== undefined && { usage }) };
    summary = step.text;
  }
  return { text: summary, ...(usage !== undefined && { usage }) };
}

async function requestOnce(
  { agent, session, model }: SummaryInput,
  messages: readonly Message[],
  most: number,
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
    // A summary is of words; pictures are told of by name.
    blob: async () => undefined,
    ...(model !== undefined && { model }),
  };
  let said = "";
  let usage: UsageDelta | undefined;
  let reason: string | undefined;
  let tooLong = false;
  try {
    for await (const event of readEventsUntil(signal, agent.run(turn, signal))) {
      if (event.type === "usage") usage = mergeUsage(usage, event.usage);
      else if (event.type === "text") said += event.text;
      else if (event.type === "failed") [reason, tooLong] = [event.reason, event.tooLong === true];
      else if (event.type === "tool_call" || event.type === "approval") reason = "It wanted to act instead.";
      if (estimateTokens([{ parts: [textPart(said)] }]) >= most)
        reason = "The summary became longer than what it sums up.";
      // What it wanted to do is not done, because nobody asks for the next event.
      if (reason !== undefined && event.type !== "usage" && event.type !== "failed") break;
    }
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  const spent = usage === undefined ? {} : { usage };
  if (reason !== undefined) return { reason, ...(tooLong && { tooLong }), ...spent };
  const summary = said.trim().toWellFormed();
  return summary === "" ? { reason: "The summary was empty.", ...spent } : { text: summary, ...spent };
}

/** Runs of messages, none of which is too long to be read at once; a message that is so by itself is cut. */
function splitMessages(messages: readonly Message[], most: number): readonly (readonly Message[])[] {
  const result: Message[][] = [];
  let slice: Message[] = [];
  let size = 0;
  for (const message of messages) {
    const short = shortenMessage(message, most);
    const more = estimateTokens([short]);
    // A result stays with its call.
    if (slice.length > 0 && size + more > most && message.role !== "tool") {
      result.push(slice);
      [slice, size] = [[], 0];
    }
    slice.push(short);
    size += more;
  }
  if (slice.length > 0) result.push(slice);
  return result;
}

/** No message takes more than a quarter: one long output must not crowd out the rest. */
function shortenMessage(message: Message, most: number): Message {
  const quarter = Math.max(200, Math.floor(most / 4));
  const longest = message.role === "tool" ? Math.min(quarter, LONGEST_RESULT) : quarter;
  const size = estimateTokens([message]);
  if (size <= longest) return message;
  const said = getText(message);
  const half = Math.floor((said.length * longest) / size / 2);
  const { toolCalls, ...rest } = message;
  const calls = toolCalls?.map((call) => ({
    ...call,
    arguments: JSON.stringify(call.arguments)?.slice(0, 500) ?? "",
  }));
  const words = `${said.slice(0, half)}\n[…]\n${half === 0 ? "" : said.slice(-half)}`;
  return {
    ...rest,
    parts: [textPart(words.toWellFormed())],
    ...(calls !== undefined && { toolCalls: calls }),
  };
}

export function buildSummaryNote(summary: string, session: string): Message {
  return { session, seq: 0, at: 0, role: "note", parts: [textPart(formatSummary(summary))] };
}

export function formatSummary(summary: string): string {
  return `Summary of what was said before:\n\n${summary}`;
}

/** Both together; how long the prompt of a summary was says nothing about the conversation. */
function mergeUsage(earlier: UsageDelta | undefined, more: UsageDelta): UsageDelta {
  return joinDeltas(earlier, omitPromptTokens(more));
}
