import type { LanguageModelUsage } from "ai";
import type { UsageDelta } from "../../core/usage.ts";
import type { Agent, AgentEvent } from "../../ports/agent.ts";
import { failureWords } from "./failure.ts";
import { messagesFor } from "./prompt.ts";
import { languageModel, type ModelChoice } from "./provider.ts";

/** How often a request is made again that the provider could not take (429, 5xx) or that did not get through. */
const RETRIES = 2;

const INSTRUCTIONS =
  "You are a helpful assistant in a chat. Answer in Markdown, in the language in which you are spoken to.";

/** A model of any provider. */
export function model(choice: ModelChoice, options: { readonly retries?: number } = {}): Agent {
  return {
    name: choice.model,
    titles: true,
    async *run(turn, signal) {
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
          else if (part.type === "finish-step") yield { type: "usage", usage: usageOf(part.usage, choice) };
          else if (part.type === "error") yield failed(part.error, choice);
        }
      } catch (error) {
        if (!signal.aborted) yield failed(error, choice);
      }
    },
  };
}

function failed(error: unknown, choice: ModelChoice): AgentEvent {
  return { type: "failed", reason: failureWords(error, choice) };
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
