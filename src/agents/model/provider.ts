import type { LanguageModel } from "ai";
import { PostriderError } from "../../core/errors.ts";

/** Who runs the model. `compatible` is anything that speaks OpenAI's protocol at an address: Ollama and the like. */
export type ProviderName = "anthropic" | "openai" | "openrouter" | "compatible";

export interface ModelChoice {
  readonly provider: ProviderName;
  /** As the provider calls it. */
  readonly model: string;
  readonly apiKey?: string;
  /** Instead of the provider's own address. */
  readonly baseUrl?: string;
}

export const OPENROUTER_URL = "https://openrouter.ai/api/v1";

/** The provider's client, loaded when it is first needed. */
export async function languageModel({
  provider,
  model,
  apiKey,
  baseUrl,
}: ModelChoice): Promise<LanguageModel> {
  const key = apiKey === undefined ? {} : { apiKey };
  const address = baseUrl === undefined ? {} : { baseURL: baseUrl };
  if (provider === "anthropic") {
    const { createAnthropic } = await installed(() => import("@ai-sdk/anthropic"));
    return createAnthropic({ ...key, ...address })(model);
  }
  if (provider === "openai") {
    const { createOpenAI } = await installed(() => import("@ai-sdk/openai"));
    return createOpenAI({ ...key, ...address })(model);
  }
  const { createOpenAICompatible } = await installed(() => import("@ai-sdk/openai-compatible"));
  const at = baseUrl ?? (provider === "openrouter" ? OPENROUTER_URL : undefined);
  if (at === undefined) {
    throw new PostriderError("invalid_config", "A model that speaks OpenAI's protocol needs its base URL.");
  }
  return createOpenAICompatible({ name: provider, baseURL: at, ...key, includeUsage: true })(model);
}

/** Models are optional: whoever only keeps sessions need not install the clients. */
export async function installed<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new PostriderError(
      "invalid_config",
      "The clients of model providers are not installed. Install them: npm install ai @ai-sdk/anthropic @ai-sdk/openai @ai-sdk/openai-compatible",
      { cause: error },
    );
  }
}
