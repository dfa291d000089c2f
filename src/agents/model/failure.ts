import { PostriderError } from "../../core/errors.ts";
import type { ModelChoice } from "./provider.ts";

/** What the clients' errors have in common, whichever version they come from. */
interface CallError {
  readonly statusCode?: number;
  readonly responseBody?: string;
  readonly lastError?: unknown;
  readonly cause?: unknown;
  readonly message?: string;
  readonly code?: string;
}

const NAMES = {
  anthropic: "Anthropic",
  openai: "OpenAI",
  openrouter: "OpenRouter",
  compatible: "The model's server",
};

/** Why there is no answer, for the person who waits. Never the key, and nothing that only a programmer understands. */
export function failureWords(error: unknown, choice: ModelChoice): string {
  if (error instanceof PostriderError) return error.message;
  const { lastError, statusCode, responseBody = "", message = "" } = (error ?? {}) as CallError;
  if (lastError !== undefined) return failureWords(lastError, choice);
  const who = NAMES[choice.provider];
  // A stream that breaks was answered with 200 before.
  if (statusCode === undefined || statusCode < 400) return unreachable(error as CallError, who, choice);
  const said = `${responseBody} ${message}`.toLowerCase();
  if (statusCode === 401 || statusCode === 403)
    return `${who} did not accept the key. Check it and start again.`;
  if (statusCode === 402 || /insufficient_quota|credit balance|billing/.test(said))
    return `${who} says that the account has no credit left.`;
  if (isTooLong(statusCode, said))
    return `The conversation has become too long for ${choice.model}. /new starts a new one.`;
  if (statusCode === 404) return `${who} does not know the model ${choice.model}.`;
  if (statusCode === 429) return `${who} is asked too much at the moment. Try again in a minute.`;
  if (statusCode >= 500) return `${who} has a problem of its own (${statusCode}). Try again later.`;
  return `${who} did not accept the request (${statusCode}).`;
}

function isTooLong(status: number, said: string): boolean {
  return (
    status === 413 || (status === 400 && /context.length|too long|maximum context|too many tokens/.test(said))
  );
}

function unreachable(error: CallError, who: string, { baseUrl }: ModelChoice): string {
  const code = codeIn(error);
  const where = baseUrl === undefined ? "" : ` at ${new URL(baseUrl).host}`;
  if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `${who}${where} cannot be reached (${code}). Is the network up, and the address right?`;
  return `The connection to ${who.replace(/^The/, "the")}${where} broke${code === undefined ? "" : ` (${code})`}.`;
}

/** Somewhere down the chain of causes the system says what it was. */
function codeIn(error: unknown, depth = 0): string | undefined {
  if (typeof error !== "object" || error === null || depth > 5) return undefined;
  const { code, cause } = error as CallError;
  return codeIn(cause, depth + 1) ?? (typeof code === "string" ? code : undefined);
}
