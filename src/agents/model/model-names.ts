import { awaitUnlessAborted } from "../await-unless-aborted.ts";
import { type ModelChoice, OPENROUTER_URL, type ProviderName } from "./provider.ts";

const FRESH_MS = 10 * 60_000;
/** A provider that could not be asked is left alone for a while: whoever opens an editor must not wait each time. */
const FAILED_MS = 30_000;
const LONGEST_MS = 3000;
const MOST_NAMES = 200;
/** OpenAI lists all it has; these do not answer in a chat. */
const NO_CHAT =
  /embedding|whisper|tts|dall-e|moderation|image|sora|realtime|audio|transcribe|davinci|babbage|search-api/;

/** Providers that list fewer than `MOST_NAMES` unless they are asked for more. */
const LIMITS: Readonly<Partial<Record<ProviderName, string>>> = {
  anthropic: "?limit=200",
  google: "?pageSize=200",
};

interface CachedNames {
  readonly names: Promise<readonly string[]>;
  until: number;
}

const cachedNames = new Map<string, CachedNames>();

/** The names of a provider's models, as it lists them itself. None if it does not say, or not soon. */
export async function fetchModelNames(choice: ModelChoice, signal: AbortSignal): Promise<readonly string[]> {
  const key = JSON.stringify([choice.provider, choice.baseUrl, choice.apiKey]);
  const now = performance.now();
  let known = cachedNames.get(key);
  if (known === undefined || known.until <= now) {
    const made: CachedNames = { names: requestModelNames(choice), until: now + FRESH_MS };
    void made.names.then((names) => {
      if (names.length === 0) made.until = performance.now() + FAILED_MS;
    });
    cachedNames.set(key, made);
    known = made;
  }
  return (await awaitUnlessAborted(known.names, signal)) ?? [];
}

/** Never fails, and says nothing of why: the address may hold a password, and a list is not worth an error. */
async function requestModelNames(choice: ModelChoice): Promise<readonly string[]> {
  try {
    const response = await fetch(`${getApiAddress(choice)}/models${LIMITS[choice.provider] ?? ""}`, {
      headers: buildHeaders(choice),
      redirect: "error", // the key is for this address
      signal: AbortSignal.timeout(LONGEST_MS),
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
  const chatting = provider === "openai" ? names.filter((name) => !NO_CHAT.test(name)) : names;
  return [...new Set(chatting)].slice(0, MOST_NAMES);
}

/** Google lists all its models; those that answer in a chat say so. */
function parseGoogleNames(json: unknown): readonly string[] {
  const { models } = json as { readonly models?: unknown };
  if (!Array.isArray(models)) return [];
  return models
    .flatMap((entry: { readonly name?: unknown; readonly supportedGenerationMethods?: unknown } | null) => {
      const methods = entry?.supportedGenerationMethods;
      const answers = Array.isArray(methods) && methods.includes("generateContent");
      return answers && typeof entry?.name === "string" ? [entry.name.replace(/^models\//, "")] : [];
    })
    .slice(0, MOST_NAMES);
}
