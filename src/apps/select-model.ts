import {
  type ModelChoice,
  PROVIDER_KEY_VARIABLES,
  PROVIDERS,
  type ProviderName,
} from "../agents/model/provider.ts";
import { PostriderError } from "../core/errors.ts";

/** The default model of each provider. */
const DEFAULT_MODELS: Readonly<Record<ProviderName, string>> = {
  anthropic: "claude-sonnet-5-5",
  openai: "gpt-6.1-sol",
  google: "gemini-flash-latest",
  openrouter: "openrouter/auto",
  compatible: "default",
};

/** The model settings of the configuration files. */
export interface ModelSettings {
  readonly provider?: ProviderName;
  readonly name?: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly window?: number;
}

/**
 * Selects the model: from the environment (an address first), then the configuration, then the provider with a key. A key
 * is sent only to the provider and the address for which it was set.
 */
export function selectModel(
  environment: NodeJS.ProcessEnv,
  configured: ModelSettings = {},
): ModelChoice | undefined {
  const named = getConfiguredProvider(configured);
  const address = environment.POSTRIDER_BASE_URL || undefined;
  const chosen = chooseProvider(environment, named);
  const provider = chosen ?? findProviderWithKey(environment);
  if (provider === undefined) {
    if (configured.apiKey === undefined) return undefined;
    throw createModelConfigError("model.api_key is set, but its provider is not known: set model.provider.");
  }
  const own = named === undefined || named === provider ? configured : {};
  const configuredKey = address === undefined || address === own.baseUrl ? own.apiKey : undefined;
  const apiKey = chooseKey(provider, environment, chosen !== undefined, configuredKey);
  const baseUrl = address ?? ((provider === "openai" && environment.OPENAI_BASE_URL) || own.baseUrl);
  if (provider === "compatible" && baseUrl === undefined)
    throw createModelConfigError(
      "model.provider is compatible, but has no address: set model.base_url or POSTRIDER_BASE_URL.",
    );
  if (provider !== "compatible" && apiKey === undefined)
    throw createModelConfigError(
      `model.provider is ${provider}, but has no key: set ${PROVIDER_KEY_VARIABLES[provider]}, or model.api_key in the home's config.yaml.`,
    );
  const window = parseWindow(environment) ?? (environment.POSTRIDER_MODEL ? undefined : own.window);
  return {
    provider,
    model: environment.POSTRIDER_MODEL || own.name || DEFAULT_MODELS[provider],
    ...(apiKey !== undefined && { apiKey }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(window !== undefined && { window }),
  };
}

/** The settings of another provider that a chat chooses; undefined without a key for it. Keys are never shared. */
export function selectProviderModel(
  provider: ProviderName,
  environment: NodeJS.ProcessEnv,
  configured: ModelSettings = {},
): ModelChoice | undefined {
  const named = getConfiguredProvider(configured);
  if (provider === chooseProvider(environment, named)) return selectModel(environment, configured);
  const own = named === provider ? configured : {};
  const apiKey = provider === "compatible" ? own.apiKey : readKey(environment, provider) || own.apiKey;
  const baseUrl = (provider === "openai" && environment.OPENAI_BASE_URL) || own.baseUrl;
  if (provider === "compatible" ? baseUrl === undefined : apiKey === undefined) return undefined;
  return {
    provider,
    model: own.name || DEFAULT_MODELS[provider],
    ...(apiKey !== undefined && { apiKey }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(own.window !== undefined && { window: own.window }),
  };
}

function getConfiguredProvider({ provider, baseUrl }: ModelSettings): ProviderName | undefined {
  return provider ?? (baseUrl === undefined ? undefined : "compatible");
}

/** The provider that is named explicitly, not only by a key. */
function chooseProvider(
  environment: NodeJS.ProcessEnv,
  configured: ProviderName | undefined,
): ProviderName | undefined {
  const named = parseProvider(environment.POSTRIDER_PROVIDER);
  return named ?? (environment.POSTRIDER_BASE_URL ? "compatible" : configured);
}

function chooseKey(
  provider: ProviderName,
  environment: NodeJS.ProcessEnv,
  isChosen: boolean,
  configured: string | undefined,
): string | undefined {
  const given = (isChosen && environment.POSTRIDER_API_KEY) || undefined;
  if (provider !== "compatible") return given ?? (readKey(environment, provider) || configured);
  // An address in a file is another server, so it never gets OpenAI's key.
  return given ?? configured ?? ((environment.POSTRIDER_BASE_URL && environment.OPENAI_API_KEY) || undefined);
}

function findProviderWithKey(environment: NodeJS.ProcessEnv): ProviderName | undefined {
  return (["anthropic", "openai", "google", "openrouter"] as const).find((provider) =>
    readKey(environment, provider),
  );
}

/** Google's key has two common variable names. */
function readKey(
  environment: NodeJS.ProcessEnv,
  provider: keyof typeof PROVIDER_KEY_VARIABLES,
): string | undefined {
  const other = provider === "google" ? environment.GOOGLE_GENERATIVE_AI_API_KEY : undefined;
  return environment[PROVIDER_KEY_VARIABLES[provider]] || other;
}

function parseProvider(text: string | undefined): ProviderName | undefined {
  if (!text) return undefined;
  const found = PROVIDERS.find((provider) => provider === text.trim().toLowerCase());
  if (found !== undefined) return found;
  throw createModelConfigError(
    `POSTRIDER_PROVIDER must be one of ${PROVIDERS.join(", ")}, not ${JSON.stringify(text)}.`,
  );
}

function parseWindow({ POSTRIDER_MODEL_WINDOW: text }: NodeJS.ProcessEnv): number | undefined {
  if (!text) return undefined;
  if (/^\d{4,12}$/.test(text.trim())) return Number(text);
  throw createModelConfigError(
    `POSTRIDER_MODEL_WINDOW must be a whole number of at least 1000, not ${JSON.stringify(text)}.`,
  );
}

function createModelConfigError(sentence: string): PostriderError {
  return new PostriderError("invalid_config", sentence);
}

/** The hint when no model is configured. */
export const NO_MODEL_HINT =
  "No model is configured, so I repeat your messages. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or POSTRIDER_BASE_URL for your own model, and start again.";
