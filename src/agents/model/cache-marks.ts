import { createHash } from "node:crypto";
import type { Instructions, ModelMessage } from "ai";
import type { ProviderName } from "./provider.ts";

/** Anthropic caches a request up to each mark, and allows four: the tools, the system text and two in the messages. */
const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } } as const;
const MARKED_TURNS = 2;

type Marked = { readonly providerOptions?: typeof MARK };

/** The mark of the last tool, after which the provider caches all of them. */
export function buildToolMark(provider: ProviderName): Marked {
  return provider === "anthropic" ? { providerOptions: MARK } : {};
}

/** The system text: first the stable part, then the part that changes between turns. */
export function buildSystemText(
  stable: string,
  changing: string | undefined,
  provider: ProviderName,
): Instructions {
  // Some servers refuse a second system message, and need no marks.
  if (provider !== "anthropic") return [stable, changing].filter(Boolean).join("\n\n");
  const blocks = [{ role: "system" as const, content: stable, providerOptions: MARK }];
  return changing === undefined || changing === ""
    ? blocks
    : [...blocks, { role: "system" as const, content: changing }];
}

/**
 * Marks the ends of the last two turns of the person or the tools: the next request reads the cache of the last one, and
 * the previous request wrote the one before.
 */
export function markMessages(messages: readonly ModelMessage[], provider: ProviderName): ModelMessage[] {
  if (provider !== "anthropic") return [...messages];
  const ends = messages.flatMap(({ role }, at) => {
    const next = messages[at + 1]?.role;
    return isPromptRole(role) && (next === undefined || !isPromptRole(next)) ? [at] : [];
  });
  const marked = new Set(ends.slice(-MARKED_TURNS));
  return messages.map((message, at) => (marked.has(at) ? { ...message, providerOptions: MARK } : message));
}

function isPromptRole(role: ModelMessage["role"]): boolean {
  return role === "user" || role === "tool";
}

interface OpenAIOptions {
  readonly providerOptions?: { readonly openai: { readonly store: false; readonly promptCacheKey: string } };
}

/** Options of a whole request: OpenAI stores nothing, and routes the requests of one session to the same cache. */
export function buildRequestOptions(provider: ProviderName, session: string): OpenAIOptions {
  if (provider !== "openai") return {};
  const promptCacheKey = createHash("sha256").update(`postrider ${session}`).digest("hex").slice(0, 32);
  return { providerOptions: { openai: { store: false, promptCacheKey } } };
}
