import type { LanguageModelUsage, ModelMessage, ToolSet } from "ai";
import type { AgentEvent, AgentTurn } from "../../ports/agent.ts";
import type { Tool } from "../../ports/tool.ts";
import { withBoundedRetries } from "./bounded-retries.ts";
import { failureWords, isTooLong, refusesTools } from "./failure.ts";
import { incompleteWords } from "./finish.ts";
import { languageModel, type ModelChoice } from "./provider.ts";
import { usageOf } from "./usage.ts";

const INSTRUCTIONS =
  "You are a helpful assistant in a chat. Answer in Markdown, in the language in which you are spoken to.";

export interface Asking {
  readonly choice: ModelChoice;
  readonly turn: AgentTurn;
  readonly messages: readonly ModelMessage[];
  readonly retries: number;
  /** Whether the model is told of the turn's tools. */
  readonly offersTools: boolean;
}

/** What came of asking a model once, besides what it said. */
export interface Round {
  readonly calls: readonly ModelCall[];
  /** What it said and called, in the form in which its provider wants it back. */
  readonly messages: readonly ModelMessage[];
  readonly hasText: boolean;
}

export interface ModelCall {
  /** As the provider has it. */
  readonly id: string;
  readonly name: string;
  readonly given: unknown;
  readonly wrong?: string;
}

/**
 * Asks the model once. Nothing when it failed or was stopped: then there is no more to do. `no_tools`, and nothing was said,
 * when it cannot be offered any.
 */
export async function* askOnce(
  { choice, turn, messages, retries, offersTools }: Asking,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, Round | "no_tools" | undefined> {
  const { streamText } = await import("ai");
  // A provider that cannot think shorter is none of the person's business, and the client would tell them on the screen.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const result = streamText({
    model: await withBoundedRetries(await languageModel(choice)),
    instructions: [INSTRUCTIONS, turn.prompt, turn.changing, turn.note].filter(Boolean).join("\n\n"),
    messages: [...messages],
    ...(offersTools && { tools: await offered(turn.tools ?? []) }),
    ...(turn.reasoning !== undefined && { reasoning: turn.reasoning }),
    abortSignal: signal,
    maxRetries: retries,
    onError: () => {}, // it comes as a part of the stream; the default writes it to the console
  });
  const calls: ModelCall[] = [];
  let isFailed = false;
  let hasText = false;
  for await (const part of result.stream) {
    if (signal.aborted) return undefined;
    if (part.type === "text-delta" && part.text !== "") {
      hasText ||= part.text.trim() !== "";
      yield { type: "text", text: part.text };
    } else if (part.type === "reasoning-delta" && part.text !== "")
      yield { type: "thought", text: part.text };
    else if (part.type === "tool-call" && part.providerExecuted !== true) calls.push(callOf(part, turn));
    else if (part.type === "finish-step") {
      // Nothing was counted of what broke off: it must not pass for an empty prompt.
      if (!isUncounted(part)) yield { type: "usage", usage: usageOf(part.usage, choice) };
      const reason = isFailed
        ? undefined
        : incompleteWords(part, { hasText, hasCalls: calls.length > 0 }, choice);
      if (reason !== undefined) {
        isFailed = true;
        yield { type: "failed", reason };
      }
    } else if (part.type === "error" && !isFailed) {
      if (offersTools && refusesTools(part.error)) return "no_tools";
      isFailed = true;
      yield failed(part.error, choice);
    }
  }
  if (signal.aborted || isFailed) return undefined;
  if (calls.length === 0) return { calls, messages: [], hasText };
  // The client answers calls that it cannot read by itself: what is wrong with them, we say with the other results.
  const said = (await result.responseMessages).filter(({ role }) => role === "assistant");
  return { calls, messages: said, hasText };
}

export function failed(error: unknown, choice: ModelChoice): AgentEvent {
  const reason = failureWords(error, choice);
  return { type: "failed", reason, ...(isTooLong(error) && { tooLong: true }) };
}

/** Tools that the client only tells the model about: acting is ours, after the call was stored. */
async function offered(tools: readonly Tool[]): Promise<ToolSet> {
  const { jsonSchema, tool } = await import("ai");
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [
      name,
      tool({ description, inputSchema: jsonSchema(input) }),
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

function callOf(
  { toolCallId, toolName, input, invalid, error }: CallPart,
  { tools = [] }: AgentTurn,
): ModelCall {
  const isKnown = tools.some(({ name }) => name === toolName);
  return {
    id: toolCallId,
    name: toolName,
    given: input,
    ...(invalid === true && isKnown && { wrong: malformedWords(error) }),
  };
}

const LONGEST_DETAIL = 200;

/** For the model: what the parser says of its arguments, and how to do better. */
function malformedWords(error: unknown): string {
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
