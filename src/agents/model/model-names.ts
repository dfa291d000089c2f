import { awaitUnlessAborted } from "../await-unless-aborted.ts";
import { type ModelChoice, OPENROUTER_URL, type ProviderName } from "./provider.ts";

const FRESH_MS = 10 * 60_000;
/** After a failure, the provider is not asked for a while: opening an editor must not wait each time. */
const FAILED_MS = 30_000;
const REQUEST_TIMEOUT_MS = 3000;
const MAX_NAMES = 200;
/** OpenAI lists all its models; these do not answer in a chat. */
const NO_CHAT =
  /embedding|whisper|tts|dall-e|moderation|image|sora|realtime|audio|transcribe|davinci|babbage|search-api/;

/** The query for providers that list fewer than `MAX_NAMES` by default. */
const LIMITS: Readonly<Partial<Record<ProviderName, string>>> = {
  anthropic: "?limit=200",
  google: "?pageSize=200",
};

interface CachedNames {
  readonly names: Promise<readonly string[]>;
  until: number;
}

const cachedNames = new Map<string, CachedNames>();

/** The names of a provider's models, from its own list. Empty if the provider has none or does not answer in time. */
export async function fetchModelNames(choice: ModelChoice, signal: AbortSignal): Promise<readonly string[]> {
  const key = JSON.stringify([choice.provider, choice.baseUrl, choice.apiKey]);
  const now = performance.now();
  let known = cachedNames.get(key);
  if (known === undefined || known.until <= now) {
    const fetched: CachedNames = { names: requestModelNames(choice), until: now + FRESH_MS };
    void fetched.names.then((names) => {
      if (names.length === 0) fetched.until = performance.now() + FAILED_MS;
    });
    cachedNames.set(key, fetched);
    known = fetched;
  }
  return (await awaitUnlessAborted(known.names, signal)) ?? [];
}

/** Never fails, and never reports a reason: the URL may contain a password, and a list is not worth an error. */
async function requestModelNames(choice: ModelChoice): Promise<readonly string[]> {
  try {
    const response = await fetch(`${getApiAddress(choice)}/models${LIMITS[choice.provider] ?? ""}`, {
      headers: buildHeaders(choice),
      redirect: "error", // the key is for this address
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return response.ok ? parseNames(await response.json(), choice) : [];
  } catch {
    return [];
  }
}

function getApiAddress({ provider, baseUrl }: ModelChoice): string {
  if (baseUrl !== undefined) return baseUrl.replace(/\/+$/, "");
  if (provider === "anthropic") return "https://api.anthropic.com/v1";
  if (provider === "google") return "https://generativelanguage.googleapis.com/v1beta";
  return provider === "openrouter" ? OPENROUTER_URL : "https://api.openai.com/v1";
}

function buildHeaders({ provider, apiKey }: ModelChoice): Record<string, string> {
  if (apiKey === undefined) return {};
  if (provider === "anthropic") return { "x-api-key": apiKey, "anthropic-version": "2023-06-01" };
  if (provider === "google") return { "x-goog-api-key": apiKey };
  return { authorization: `Bearer ${apiKey}` };
}

function parseNames(json: unknown, { provider }: ModelChoice): readonly string[] {
  if (provider === "google") return parseGoogleNames(json);
  const { data } = json as { readonly data?: unknown };
  if (!Array.isArray(data)) return [];
  const names = data.flatMap((entry: { readonly id?: unknown } | null) =>
    typeof entry?.id === "string" && entry.id !== "" ? [entry.id] : [],
  );
  const chatNames = provider === "openai" ? names.filter((name) => !NO_CHAT.test(name)) : names;
  return [...new Set(chatNames)].slice(0, MAX_NAMES);
}

/** Google lists all its models, with the methods that each supports. */
function parseGoogleNames(json: unknown): readonly string[] {
  const { models } = json as { readonly models?: unknown };
  if (!Array.isArray(models)) return [];
  return models
    .flatMap((entry: { readonly name?: unknown; readonly supportedGenerationMethods?: unknown } | null) => {
      const methods = entry?.supportedGenerationMethods;
      const canChat = Array.isArray(methods) && methods.includes("generateContent");
      return canChat && typeof entry?.name === "string" ? [entry.name.replace(/^models\//, "")] : [];
    })
    .slice(0, MAX_NAMES);
}
