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
  /** Whether the request offers the turn's tools. */
  readonly offersTools: boolean;
  /** Identifies the response within the session. */
  readonly response: string;
  /** The id under which a call is stored, from the provider's id. */
  toUniqueId(callId: string): string;
}

/** The response of a model to one request. */
export interface RoundResult {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
  readonly from: ModelResponse;
  /** All parts in their order, with the data that the provider requires back. */
  readonly parts: readonly ResponsePart[];
}

export interface ModelCall {
  /** The stored id. */
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly invalidReason?: string;
}

/**
 * Sends one request to the model. `undefined` if it failed or was stopped: then the answer ends. `no_tools`, without any
 * text, if the model accepts no tools; `no_reasoning` if it refuses the reasoning of its earlier responses.
 */
export async function* askModel(
  { choice, turn, messages, retries, offersTools, response, toUniqueId }: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, RoundResult | "no_tools" | "no_reasoning" | undefined> {
  const { provider } = choice;
  const { streamText } = await loadOptional("ai", "A model", () => import("ai"));
  // The client would print warnings on the screen, for example about a reasoning effort that a provider does not have.
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
    onError: () => {}, // the stream contains the error; the default writes it to the console
  });
  const from: ModelResponse = { provider, model: choice.model, response };
  const recorder = createResponseRecorder();
  const toEvent = (part: ResponsePart): AgentEvent => ({ type: "model_part", from, part });
  const calls: ModelCall[] = [];
  let [text, reasoning] = ["", ""];
  let isFailed = false;
  for await (const part of result.stream) {
    if (signal.aborted) return undefined;
    if (part.type === "text-delta" && part.text !== "") {
      text += part.text;
      yield { type: "text", text: part.text };
    } else if (part.type === "reasoning-delta" && part.text !== "") {
      reasoning += part.text;
      yield { type: "thought", text: part.text };
    }
    for (const due of recorder.record(part)) yield toEvent(due);
    if (part.type === "tool-call" && part.providerExecuted !== true) {
      const call = toModelCall(part, turn, toUniqueId);
      calls.push(call);
      for (const due of recorder.recordCall(call.id, part.providerMetadata)) yield toEvent(due);
    } else if (part.type === "finish-step") {
      // A broken request has no token counts: it must not count as an empty prompt.
      if (!isUncounted(part)) yield { type: "usage", usage: toUsageDelta(part.usage, choice) };
      const reason = isFailed
        ? undefined
        : formatIncomplete(part, { hasText: text.trim() !== "", hasCalls: calls.length > 0 }, choice);
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
  if (calls.length > 1) for (const due of recorder.flush()) yield toEvent(due);
  return { text, reasoning, calls, from, parts: recorder.parts };
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
 * Tool definitions without `execute`: Postrider runs the tools itself, after it has stored the call. Always in the same
 * order, so that the provider's cache applies.
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
  toUniqueId: (callId: string) => string,
): ModelCall {
  const isKnown = tools.some(({ name }) => name === toolName);
  return {
    id: toUniqueId(toolCallId),
    name: toolName,
    args: input,
    ...(invalid === true && isKnown && { invalidReason: formatMalformedArguments(error) }),
  };
}

const MAX_DETAIL = 200;

/** The error of the JSON parser and advice, for the model. */
function formatMalformedArguments(error: unknown): string {
  let cause: unknown = error;
  for (let depth = 0; depth < 5 && cause instanceof Error && !(cause instanceof SyntaxError); depth += 1)
    cause = cause.cause;
  const detail = cause instanceof SyntaxError ? `: ${cause.message.slice(0, MAX_DETAIL)}` : "";
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
