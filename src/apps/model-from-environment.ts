import type { ModelChoice } from "../agents/model/provider.ts";

/** The model that is asked where nobody says which. */
const DEFAULTS = {
  anthropic: "claude-sonnet-5-5",
  openai: "gpt-6.1-sol",
  openrouter: "openrouter/auto",
} as const;

/**
 * Which model the environment offers: an address of one's own first, because whoever names one means it; then the
 * provider whose key is there. `POSTRIDER_MODEL` names the model.
 */
export function modelFrom(environment: NodeJS.ProcessEnv): ModelChoice | undefined {
  const { POSTRIDER_MODEL: wanted, POSTRIDER_BASE_URL: baseUrl, POSTRIDER_API_KEY: apiKey } = environment;
  if (baseUrl) {
    const key = apiKey || environment.OPENAI_API_KEY;
    return { provider: "compatible", model: wanted || "default", baseUrl, ...(key && { apiKey: key }) };
  }
  const keys = {
    anthropic: environment.ANTHROPIC_API_KEY,
    openai: environment.OPENAI_API_KEY,
    openrouter: environment.OPENROUTER_API_KEY,
  };
  for (const provider of ["anthropic", "openai", "openrouter"] as const) {
    const key = keys[provider];
    const at = provider === "openai" ? environment.OPENAI_BASE_URL : undefined;
    if (key)
      return { provider, model: wanted || DEFAULTS[provider], apiKey: key, ...(at && { baseUrl: at }) };
  }
  return undefined;
}

/** One line for whoever has none yet. */
export const HOW_TO_CONNECT =
  "No model is connected, so I repeat what you say. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or POSTRIDER_BASE_URL for a model of your own, and start again.";
