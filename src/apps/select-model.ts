import {
  type ModelChoice,
  PROVIDER_KEY_VARIABLES,
  PROVIDERS,
  type ProviderName,
} from "../agents/model/provider.ts";
import { PostriderError } from "../core/errors.ts";

/** The model that is asked where nobody says which. */
const DEFAULT_MODELS: Readonly<Record<ProviderName, string>> = {
  anthropic: "claude-sonnet-5-5",
  openai: "gpt-6.1-sol",
  google: "gemini-flash-latest",
  openrouter: "openrouter/auto",
  compatible: "default",
};

/** What configuration files say about the model. */
export interface ModelSettings {
  readonly provider?: ProviderName;
  readonly name?: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly window?: number;
}

/**
 * Which model is asked. The environment's own variables come first, an address before all, because whoever names one
 * means it; then what is configured; then the provider whose key is there. A key goes only to the provider, and to the
 * address, that it was given for.
 */
export function selectModel(
  environment: NodeJS.ProcessEnv,
  configured: ModelSettings = {},
): ModelChoice | undefined {
  const said = getConfiguredProvider(configured);
  const address = environment.POSTRIDER_BASE_URL || undefined;
  const chosen = chooseProvider(environment, said);
  const provider = chosen ?? findProviderWithKey(environment);
  if (provider === undefined) {
    if (configured.apiKey === undefined) return undefined;
    throw createModelConfigError(
      "There is a model.api_key, but nothing says whose it is: set model.provider.",
    );
  }
  const own = said === undefined || said === provider ? configured : {};
  const configuredKey = address === undefined || address === own.baseUrl ? own.apiKey : undefined;
  const apiKey = chooseKey(provider, environment, chosen !== undefined, configuredKey);
  const baseUrl = address ?? ((provider === "openai" && environment.OPENAI_BASE_URL) || own.baseUrl);
  if (provider === "compatible" && baseUrl === undefined)
    throw createModelConfigError(
      "model.provider is compatible, which needs an address: set model.base_url or POSTRIDER_BASE_URL.",
    );
  if (provider !== "compatible" && apiKey === undefined)
    throw createModelConfigError(
      `model.provider is ${provider}, but there is no key: set ${PROVIDER_KEY_VARIABLES[provider]}, or model.api_key in the home's config.yaml.`,
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

/**
 * How another provider than the one that answers by itself is asked, when a chat chooses one of its models; nothing if
 * there is no key for it. What the environment says of the chosen provider and its address is for that one alone.
 */
export function selectProviderModel(
  provider: ProviderName,
  environment: NodeJS.ProcessEnv,
  configured: ModelSettings = {},
): ModelChoice | undefined {
  const said = getConfiguredProvider(configured);
  if (provider === chooseProvider(environment, said)) return selectModel(environment, configured);
  const own = said === provider ? configured : {};
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

/** Whom somebody has named, not only whose key is there. */
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
  // An address from a file is somebody's own server: OpenAI's key is not for it.
  return given ?? configured ?? ((environment.POSTRIDER_BASE_URL && environment.OPENAI_API_KEY) || undefined);
}

function findProviderWithKey(environment: NodeJS.ProcessEnv): ProviderName | undefined {
  return (["anthropic", "openai", "google", "openrouter"] as const).find((provider) =>
    readKey(environment, provider),
  );
}

/** Google's key has two common names. */
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

/** One line for whoever has none yet. */
export const NO_MODEL_HINT =
  "No model is connected, so I repeat what you say. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or POSTRIDER_BASE_URL for a model of your own, and start again.";
