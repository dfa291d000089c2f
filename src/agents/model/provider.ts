import type { LanguageModel } from "ai";
import { PostriderError } from "../../core/errors.ts";
import { loadOptional } from "../../system/load-optional.ts";

/** Who runs the model. `compatible` is anything that speaks OpenAI's protocol at an address: Ollama and the like. */
export type ProviderName = "anthropic" | "openai" | "google" | "openrouter" | "compatible";

export const PROVIDERS: readonly ProviderName[] = [
  "anthropic",
  "openai",
  "google",
  "openrouter",
  "compatible",
];

/** The variable in which each provider's key is given. */
export const PROVIDER_KEY_VARIABLES: Readonly<Record<Exclude<ProviderName, "compatible">, string>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  google: "GEMINI_API_KEY",
  openrouter: "OPENROUTER_API_KEY",
};

export interface ModelChoice {
  readonly provider: ProviderName;
  /** As the provider calls it. */
  readonly model: string;
  readonly apiKey?: string;
  /** Instead of the provider's own address. */
  readonly baseUrl?: string;
  /** How many tokens it reads at once, where it is not what its family does. */
  readonly window?: number;
}

const PROVIDER_NAMES: Readonly<Record<ProviderName, string>> = {
  anthropic: "Anthropic",
  openai: "OpenAI",
  google: "Google",
  openrouter: "OpenRouter",
  compatible: "The model server",
};

/** How sentences for people name the provider: with its host where somebody has set the address. */
export function formatProviderName({ provider, baseUrl }: ModelChoice): string {
  const host = baseUrl === undefined ? undefined : URL.parse(baseUrl)?.host; // never the user or the path: they may hold a key
  return host ? `${PROVIDER_NAMES[provider]} at ${host}` : PROVIDER_NAMES[provider];
}

export const OPENROUTER_URL = "https://openrouter.ai/api/v1";

/** The provider's client, loaded when it is first needed. */
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
    throw new PostriderError("invalid_config", "A model that speaks OpenAI's protocol needs its base URL.");
  }
  return createOpenAICompatible({ name: provider, baseURL: at, ...key, includeUsage: true })(model);
}
