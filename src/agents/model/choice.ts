import { type ModelChoice, PROVIDER_KEY_VARIABLES, PROVIDERS, type ProviderName } from "./provider.ts";
import { findModelWindow } from "./window.ts";

type ProviderLookup = ((provider: ProviderName) => ModelChoice | undefined) | undefined;

/**
 * Which model a chat means: a name alone is one of our own provider's, `provider:model` is that provider's. Models whose
 * own names have a colon, as in `llama3:8b`, are not taken for it. The provider's name if it cannot be asked.
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

/** How much the model that a chat means reads at once. */
export function resolveModelWindow(name: string, own: ModelChoice, other: ProviderLookup): number {
  const choice = resolveModelChoice(name, own, other);
  if (typeof choice === "string") return findModelWindow(parseProvider(name)?.model ?? name);
  return choice.window ?? findModelWindow(choice.model);
}

/** Why a provider cannot be asked, and what to do. */
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

/** What was said about how much a model reads holds for that one only. */
function replaceModel(choice: ModelChoice, model: string): ModelChoice {
  if (choice.model === model) return choice;
  const { window: _, ...rest } = choice;
  return { ...rest, model };
}
