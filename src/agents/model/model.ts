import type { LanguageModelUsage } from "ai";
import type { UsageDelta } from "../../core/usage.ts";
import type { Agent, AgentEvent } from "../../ports/agent.ts";
import { failureWords, isTooLong } from "./failure.ts";
import { messagesFor } from "./prompt.ts";
import { languageModel, type ModelChoice } from "./provider.ts";
import { windowOf } from "./window.ts";

/** How often a request is made again that the provider could not take (429, 5xx) or that did not get through. */
const RETRIES = 2;

const INSTRUCTIONS =
  "You are a helpful assistant in a chat. Answer in Markdown, in the language in which you are spoken to.";

/** A model of any provider; a chat may choose another of the same one. */
export function model(own: ModelChoice, options: { readonly retries?: number } = {}): Agent {
  return {
    name: own.model,
    titles: true,
    window: own.window ?? windowOf(own.model),
    windowOf: (name) => (name === own.model ? (own.window ?? windowOf(name)) : windowOf(name)),
    async *run(turn, signal) {
      const choice = turn.model === undefined ? own : { ...own, model: turn.model };
      try {
        const { streamText } = await import("ai");
        const { stream } = streamText({
          model: await languageModel(choice),
          instructions: [INSTRUCTIONS, turn.prompt, turn.note].filter(Boolean).join("\n\n"),
          messages: await messagesFor(turn),
          abortSignal: signal,
          maxRetries: options.retries ?? RETRIES,
          onError: () => {}, // it comes as a part of the stream; the default writes it to the console
        });
        for await (const part of stream) {
          if (signal.aborted) return;
          if (part.type === "text-delta") yield { type: "text", text: part.text };
          else if (part.type === "reasoning-delta") yield { type: "thought", text: part.text };
          // Nothing was counted of what broke off: it must not pass for an empty prompt.
          else if (part.type === "finish-step" && !isUncounted(part))
            yield { type: "usage", usage: usageOf(part.usage, choice) };
          else if (part.type === "error") yield failed(part.error, choice);
        }
      } catch (error) {
        if (!signal.aborted) yield failed(error, choice);
      }
    },
  };
}

function failed(error: unknown, choice: ModelChoice): AgentEvent {
  const reason = failureWords(error, choice);
  return { type: "failed", reason, ...(isTooLong(error) && { tooLong: true }) };
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

/** Tokens as our counters have them: what came from the cache is not input again. */
function usageOf(usage: LanguageModelUsage, choice: ModelChoice): UsageDelta {
  const { cacheReadTokens = 0, cacheWriteTokens = 0, noCacheTokens } = usage.inputTokenDetails;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const cost = (usage.raw as { cost?: unknown } | undefined)?.cost;
  return {
    inputTokens: noCacheTokens ?? Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: usage.outputTokenDetails.reasoningTokens ?? 0,
    lastPromptTokens: inputTokens,
    model: choice.model,
    provider: choice.provider,
    ...(choice.baseUrl !== undefined && { baseUrl: choice.baseUrl }),
    ...(typeof cost === "number" && { costUsd: cost, costStatus: "actual", costSource: "provider" }),
  };
}
