import { formatFiltered } from "./failure.ts";
import { formatCutConnection } from "./network-failure.ts";
import { formatProviderName, type ModelChoice } from "./provider.ts";

/** How one response of a model ended. */
export interface ModelFinish {
  readonly finishReason: string;
  /** The provider's own name for it. */
  readonly rawFinishReason?: string | undefined;
  readonly providerMetadata?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
}

/** Why an answer that ended without an error is incomplete, and what to do; `undefined` if it is complete. */
export function formatIncomplete(
  { finishReason, rawFinishReason: raw, providerMetadata }: ModelFinish,
  { hasText, hasCalls }: { readonly hasText: boolean; readonly hasCalls: boolean },
  choice: ModelChoice,
): string | undefined {
  const { model } = choice;
  if (finishReason === "length") {
    if (raw === "model_context_window_exceeded")
      return `The conversation and the answer are too long for ${model}. /compress shortens the conversation, /new starts a new one.`;
    if (hasCalls)
      return `${model} reached its output limit in the middle of a tool call, so the call was not made. Ask for less at once, or choose another model with /model.`;
    return hasText
      ? `The answer is incomplete: ${model} reached its output limit. Ask it to go on to get the rest.`
      : `${model} reached its output limit before it answered. Ask for less at once, or choose another model with /model.`;
  }
  if (finishReason === "content-filter" || isBlockedPrompt(providerMetadata)) return formatFiltered(choice);
  if (finishReason === "error" || raw === "error")
    return `${formatProviderName(choice)} stopped the answer with an error. /retry tries again.`;
  // The stream ended without a finish reason.
  if (finishReason === "interrupted" || (finishReason === "other" && raw === undefined))
    return formatCutConnection(choice);
  return undefined;
}

/** The model ended its answer without text or calls. */
export function formatEmptyAnswer({ model }: ModelChoice): string {
  return `${model} gave an empty answer. /retry tries again.`;
}

/** Google blocks a prompt without a finish reason. */
function isBlockedPrompt(metadata: ModelFinish["providerMetadata"]): boolean {
  const feedback = metadata?.google?.promptFeedback as { readonly blockReason?: unknown } | null | undefined;
  return typeof feedback?.blockReason === "string";
}
