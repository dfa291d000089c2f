import type { LanguageModel } from "ai";
import { PostriderError } from "../../core/errors.ts";
import { loadOptional } from "../../system/load-optional.ts";

/** The provider of a model. `compatible` is any server with OpenAI's protocol, such as Ollama. */
export type ProviderName = "anthropic" | "openai" | "google" | "openrouter" | "compatible";

export const PROVIDERS: readonly ProviderName[] = [
  "anthropic",
  "openai",
  "google",
  "openrouter",
  "compatible",
];

/** The environment variable of each provider's key. */
export const PROVIDER_KEY_VARIABLES: Readonly<Record<Exclude<ProviderName, "compatible">, string>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  google: "GEMINI_API_KEY",
  openrouter: "OPENROUTER_API_KEY",
};

export interface ModelChoice {
  readonly provider: ProviderName;
  /** The provider's name for the model. */
  readonly model: string;
  readonly apiKey?: string;
  /** Replaces the provider's own URL. */
  readonly baseUrl?: string;
  /** The context window in tokens, if it differs from that of the model family. */
  readonly window?: number;
}

const PROVIDER_NAMES: Readonly<Record<ProviderName, string>> = {
  anthropic: "Anthropic",
  openai: "OpenAI",
  google: "Google",
  openrouter: "OpenRouter",
  compatible: "The model server",
};

/** The provider in sentences for people: with its host if the URL is configured. */
export function formatProviderName({ provider, baseUrl }: ModelChoice): string {
  const host = baseUrl === undefined ? undefined : URL.parse(baseUrl)?.host; // never the user or the path: they may contain a key
  return host ? `${PROVIDER_NAMES[provider]} at ${host}` : PROVIDER_NAMES[provider];
}

export const OPENROUTER_URL = "https://openrouter.ai/api/v1";

/** Loads the provider's client on first use. */
export async function loadLanguageModel({
  provider,
  model,
  apiKey,
  baseUrl,
}: ModelChoice): Promise<Exclude<LanguageModel, string>> {
  const key = apiKey === undefined ? {} : { apiKey };
  const address = baseUrl === undefined ? {} : { baseURL: baseUrl };
  if (provider === "anthropic") {
    const { createAnthropic } = await loadOptional(
      "@ai-sdk/anthropic",
      "Anthropic",
      () => import("@ai-sdk/anthropic"),
    );
    return createAnthropic({ ...key, ...address })(model);
  }
  if (provider === "openai") {
    const { createOpenAI } = await loadOptional("@ai-sdk/openai", "OpenAI", () => import("@ai-sdk/openai"));
    return createOpenAI({ ...key, ...address })(model);
  }
  if (provider === "google") {
    const { createGoogle } = await loadOptional("@ai-sdk/google", "Google", () => import("@ai-sdk/google"));
    return createGoogle({ ...key, ...address })(model);
  }
  const { createOpenAICompatible } = await loadOptional(
    "@ai-sdk/openai-compatible",
    "A model that speaks OpenAI's protocol",
    () => import("@ai-sdk/openai-compatible"),
  );
  const at = baseUrl ?? (provider === "openrouter" ? OPENROUTER_URL : undefined);
  if (at === undefined) {
    throw new PostriderError(
      "invalid_config",
      "A server with OpenAI's protocol needs a base URL: set POSTRIDER_BASE_URL or model.base_url.",
    );
  }
  return createOpenAICompatible({ name: provider, baseURL: at, ...key, includeUsage: true })(model);
}
