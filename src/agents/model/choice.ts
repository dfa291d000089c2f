import { type ModelChoice, PROVIDER_KEY_VARIABLES, PROVIDERS, type ProviderName } from "./provider.ts";
import { findModelWindow } from "./window.ts";

type ProviderLookup = ((provider: ProviderName) => ModelChoice | undefined) | undefined;

/**
 * The model that a chat has chosen: a name alone belongs to the configured provider, `provider:model` to that provider. A
 * colon within a name, as in `llama3:8b`, is part of the name. Returns the provider's name if it has no key.
 */
export function resolveModelChoice(
  name: string | undefined,
  own: ModelChoice,
  other: ProviderLookup,
): ModelChoice | ProviderName {
  if (name === undefined || name === own.model) return own;
  const named = parseProvider(name);
  if (named === undefined) return replaceModel(own, name);
  const { provider, model } = named;
  const choice = provider === own.provider ? own : other?.(provider);
  return choice === undefined ? provider : replaceModel(choice, model);
}

/** The context window of the model that a chat has chosen. */
export function resolveModelWindow(name: string, own: ModelChoice, other: ProviderLookup): number {
  const choice = resolveModelChoice(name, own, other);
  if (typeof choice === "string") return findModelWindow(parseProvider(name)?.model ?? name);
  return choice.window ?? findModelWindow(choice.model);
}

/** Why a provider cannot be used, and what to do. */
export function formatMissingKey(provider: ProviderName): string {
  return provider === "compatible"
    ? "There is no address of a model of your own: set POSTRIDER_BASE_URL and start again, or choose another with /model."
    : `There is no key for ${provider}: set ${PROVIDER_KEY_VARIABLES[provider]} and start again, or choose another with /model.`;
}

function parseProvider(
  name: string,
): { readonly provider: ProviderName; readonly model: string } | undefined {
  const [, prefix = "", model = ""] = /^([^:]+):(.+)$/s.exec(name) ?? [];
  const provider = PROVIDERS.find((known) => known === prefix.toLowerCase());
  return provider === undefined ? undefined : { provider, model };
}

/** A configured window applies to its own model only. */
function replaceModel(choice: ModelChoice, model: string): ModelChoice {
  if (choice.model === model) return choice;
  const { window: _, ...rest } = choice;
  return { ...rest, model };
}
