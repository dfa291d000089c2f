import type { LanguageModelUsage, ModelMessage, ToolSet } from "ai";
import type { AgentEvent, AgentTurn, ModelResponse } from "../../ports/agent.ts";
import type { Tool } from "../../ports/tool.ts";
import { loadOptional } from "../../system/load-optional.ts";
import { boundRetries } from "./bounded-retries.ts";
import { buildRequestOptions, buildSystemText, buildToolMark, markMessages } from "./cache-marks.ts";
import { formatModelFailure, isTooLong, isToolRefusal } from "./failure.ts";
import { formatIncomplete } from "./finish.ts";
import { loadLanguageModel, type ModelChoice, type ProviderName } from "./provider.ts";
import { isReasoningRefusal } from "./reasoning-refusal.ts";
import type { ResponsePart } from "./response-parts.ts";
import { createResponseRecorder } from "./response-recorder.ts";
import { toUsageDelta } from "./usage.ts";

const INSTRUCTIONS =
  "You are a helpful assistant in a chat. Answer in Markdown, in the language in which you are spoken to.";

export interface ModelRequest {
  readonly choice: ModelChoice;
  readonly turn: AgentTurn;
  readonly messages: readonly ModelMessage[];
  readonly retries: number;
  /** Whether the model is told of the turn's tools. */
  readonly offersTools: boolean;
  /** Tells the response from the others of the session. */
  readonly response: string;
  /** The id under which a call is stored, from the provider's. */
  toUniqueId(given: string): string;
}

/** The response of a model that was asked once. */
export interface RoundResult {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
  readonly from: ModelResponse;
  /** The order of it all, with the data that the provider wants back. */
  readonly parts: readonly ResponsePart[];
}

export interface ModelCall {
  /** As it is stored. */
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly wrong?: string;
}

/**
 * Asks the model once. Nothing when it failed or was stopped: then there is no more to do. `no_tools`, and nothing was said,
 * when it cannot be offered any; `no_reasoning` when it refuses reasoning of its earlier responses.
 */
export async function* askModel(
  { choice, turn, messages, retries, offersTools, response, toUniqueId }: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, RoundResult | "no_tools" | "no_reasoning" | undefined> {
  const { provider } = choice;
  const { streamText } = await loadOptional("ai", "A model", () => import("ai"));
  // A provider that cannot think shorter is none of the person's business, and the client would tell them on the screen.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const result = streamText({
    model: await boundRetries(await loadLanguageModel(choice)),
    instructions: buildSystemText(
      [INSTRUCTIONS, turn.prompt].filter(Boolean).join("\n\n"),
      turn.volatilePrompt,
      provider,
    ),
    messages: markMessages(messages, provider),
    ...buildRequestOptions(provider, turn.session),
    ...(offersTools && { tools: await buildToolSet(turn.tools ?? [], provider) }),
    ...(turn.reasoning !== undefined && { reasoning: turn.reasoning }),
    abortSignal: signal,
    maxRetries: retries,
    onError: () => {}, // it comes as a part of the stream; the default writes it to the console
  });
  const from: ModelResponse = { provider, model: choice.model, response };
  const recorder = createResponseRecorder();
  const stored = (part: ResponsePart): AgentEvent => ({ type: "model_part", from, part });
  const calls: ModelCall[] = [];
  let [said, thought] = ["", ""];
  let isFailed = false;
  for await (const part of result.stream) {
    if (signal.aborted) return undefined;
    if (part.type === "text-delta" && part.text !== "") {
      said += part.text;
      yield { type: "text", text: part.text };
    } else if (part.type === "reasoning-delta" && part.text !== "") {
      thought += part.text;
      yield { type: "thought", text: part.text };
    }
    for (const due of recorder.record(part)) yield stored(due);
    if (part.type === "tool-call" && part.providerExecuted !== true) {
      const call = toModelCall(part, turn, toUniqueId);
      calls.push(call);
      for (const due of recorder.recordCall(call.id, part.providerMetadata)) yield stored(due);
    } else if (part.type === "finish-step") {
      // Nothing was counted of what broke off: it must not pass for an empty prompt.
      if (!isUncounted(part)) yield { type: "usage", usage: toUsageDelta(part.usage, choice) };
      const reason = isFailed
        ? undefined
        : formatIncomplete(part, { hasText: said.trim() !== "", hasCalls: calls.length > 0 }, choice);
      if (reason !== undefined) {
        isFailed = true;
        yield { type: "failed", reason };
      }
    } else if (part.type === "error" && !isFailed) {
      if (offersTools && isToolRefusal(part.error)) return "no_tools";
      if (hasReasoning(messages) && isReasoningRefusal(part.error)) return "no_reasoning";
      isFailed = true;
      yield toFailedEvent(part.error, choice);
    }
  }
  if (signal.aborted || isFailed) return undefined;
  if (calls.length > 1) for (const due of recorder.flush()) yield stored(due);
  return { text: said, reasoning: thought, calls, from, parts: recorder.parts };
}

function hasReasoning(messages: readonly ModelMessage[]): boolean {
  return messages.some(
    ({ content }) => typeof content !== "string" && content.some(({ type }) => type === "reasoning"),
  );
}

export function toFailedEvent(error: unknown, choice: ModelChoice): AgentEvent {
  const reason = formatModelFailure(error, choice);
  return { type: "failed", reason, ...(isTooLong(error) && { tooLong: true }) };
}

/**
 * Tools that the client only tells the model about: acting is ours, after the call was stored. Always in the same order, so
 * that the provider's cache applies.
 */
async function buildToolSet(tools: readonly Tool[], provider: ProviderName): Promise<ToolSet> {
  const { jsonSchema, tool } = await import("ai");
  const sorted = tools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return Object.fromEntries(
    sorted.map(({ name, description, input }, at) => [
      name,
      tool({
        description,
        inputSchema: jsonSchema(input),
        ...(at === sorted.length - 1 && buildToolMark(provider)),
      }),
    ]),
  );
}

interface CallPart {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly invalid?: boolean | undefined;
  readonly error?: unknown;
}

function toModelCall(
  { toolCallId, toolName, input, invalid, error }: CallPart,
  { tools = [] }: AgentTurn,
  unique: (given: string) => string,
): ModelCall {
  const isKnown = tools.some(({ name }) => name === toolName);
  return {
    id: unique(toolCallId),
    name: toolName,
    args: input,
    ...(invalid === true && isKnown && { wrong: formatMalformedArguments(error) }),
  };
}

const LONGEST_DETAIL = 200;

/** For the model: what the parser says of its arguments, and how to do better. */
function formatMalformedArguments(error: unknown): string {
  let cause: unknown = error;
  for (let depth = 0; depth < 5 && cause instanceof Error && !(cause instanceof SyntaxError); depth += 1)
    cause = cause.cause;
  const detail = cause instanceof SyntaxError ? `: ${cause.message.slice(0, LONGEST_DETAIL)}` : "";
  return `The arguments are not valid JSON${detail}. Call the tool again with one JSON object.`;
}

function isUncounted({
  finishReason,
  usage,
}: {
  readonly finishReason: string;
  readonly usage: LanguageModelUsage;
}): boolean {
  return finishReason === "error" && usage.inputTokens === undefined;
}
