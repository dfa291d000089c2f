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

/** How providers say that they cannot read it all; some only once they have begun to answer. */
const TOO_LONG =
  /context.?(length|window|size|limit)|prompt.{0,20}too long|input.{0,40}too long|maximum context|too many (input )?tokens|token count.{0,40}exceeds|request_too_large/;

/** Why there is no answer, for the person who waits. Never the key, and nothing that only a programmer understands. */
export function failureWords(error: unknown, choice: ModelChoice): string {
  if (error instanceof PostriderError) return error.message;
  const { status, said, told } = heard(error);
  const who = NAMES[choice.provider];
  if (isTooLong(error))
    return `The conversation has become too long for ${choice.model}. /new starts a new one.`;
  if (status === undefined) return told ? `${who} broke off the answer.` : unreachable(error, who, choice);
  if (status === 401 || status === 403) return `${who} did not accept the key. Check it and start again.`;
  if (status === 402 || /insufficient_quota|credit balance|billing/.test(said))
    return `${who} says that the account has no credit left.`;
  if (status === 404) return `${who} does not know the model ${choice.model}.`;
  if (status === 429) return `${who} is asked too much at the moment. Try again in a minute.`;
  if (status >= 500) return `${who} has a problem of its own (${status}). Try again later.`;
  return `${who} did not accept the request (${status}).`;
}

/** Whether the model could not read all of it: then a summary helps. */
export function isTooLong(error: unknown): boolean {
  const { status, said, told } = heard(error);
  if (status === 413) return true;
  const refused = status === undefined ? told : status === 400 || status === 422 || status === 500;
  return refused && TOO_LONG.test(said);
}

/** How providers say that a model cannot call tools, whichever these are. */
const NO_TOOLS =
  /(not|n't|cannot) (\w+ ){0,2}(support|use|call)\w* (\w+ ){0,3}(tool|function)|(tool|function)s?( \w+){0,4} (is|are)? ?(not supported|unsupported)|no endpoints found that support tool/;

/** Whether the model would have answered if it had been offered no tools. */
export function refusesTools(error: unknown): boolean {
  const { status, said } = heard(error);
  return (status === 400 || status === 404 || status === 422) && NO_TOOLS.test(said.replace(/[`'"\\]/g, ""));
}

interface Heard {
  /** Of a request that was refused: a stream that breaks was answered with 200 before. */
  readonly status?: number;
  readonly said: string;
  /** The provider itself said it, in the middle of the answer. */
  readonly told: boolean;
}

/** So much of what a provider says is looked through: some answer with a whole page. */
const MOST_HEARD = 10_000;

function heard(error: unknown): Heard {
  if (typeof error === "string") return { said: error.slice(0, MOST_HEARD).toLowerCase(), told: true };
  if (typeof error !== "object" || error === null) return { said: "", told: false };
  const { lastError, statusCode = 0, responseBody = "", message = "", code = "" } = error as CallError;
  if (lastError !== undefined) return heard(lastError);
  const said = [responseBody, message, code]
    .map((text) => text.slice(0, MOST_HEARD))
    .join(" ")
    .toLowerCase();
  if (statusCode >= 400) return { status: statusCode, said, told: true };
  return { said, told: !(error instanceof Error) || error.name === "AI_StreamProviderError" };
}

function unreachable(error: unknown, who: string, { baseUrl }: ModelChoice): string {
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
