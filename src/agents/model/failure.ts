import { PostriderError } from "../../core/errors.ts";
import { toOneLine } from "../../core/printable.ts";
import { createSecretMask } from "../../processes/masking.ts";
import { formatMissingKey } from "./choice.ts";
import { formatNetworkFailure } from "./network-failure.ts";
import { formatProviderName, type ModelChoice, PROVIDER_KEY_VARIABLES } from "./provider.ts";
import { type ProviderError, readProviderError } from "./provider-error.ts";
import { formatWait } from "./retry-wait.ts";

const TOO_LONG =
  /context.?(length|window|size|limit)|prompt.{0,20}too long|input.{0,40}too long|maximum context|too many (input )?tokens|token count.{0,40}exceeds|request_too_large/;
const NO_CREDIT =
  /insufficient_quota|insufficient.{0,20}(credit|balance|fund)|credit balance|billing_(error|hard_limit|not_active)|requires more credits|payment required/;
const NO_MODEL =
  /model_not_found|model_not_exist|not a valid model|(unknown|invalid|no such) model|model.{0,200}(not found|not exist)|"message":\s?"model: /;
const FILTERED =
  /content_?filter|content_policy|content filtering policy|content management policy|moderation|was flagged|safety (system|policy)/;
const MODEL_DENIED = /model|permission/;
const WRONG_KEY =
  /(invalid|incorrect|missing|wrong|expired|no).{0,20}(api[ _-]?key|token|credential)|(api[ _-]?key|token|credential).{0,40}(invalid|incorrect|missing|expired|not valid)/;
const WRONG_REGION =
  /unsupported_country|(country|region|location).{0,40}not supported|location is not supported/;
const OVERLOADED = /overloaded|over capacity|at capacity/;

/** Why a request failed and what to do, for the person. Contains no key and no web page, and is never long. */
export function formatModelFailure(error: unknown, choice: ModelChoice): string {
  if (error instanceof PostriderError) return error.message;
  const read = readProviderError(error);
  const { status, name } = read;
  if (isTooLongError(read))
    return `The conversation is too long for ${choice.model}. /compress shortens it, /new starts a new one.`;
  if (name === "AI_LoadAPIKeyError") return formatMissingKey(choice.provider);
  if (status === undefined && read.isReported)
    return `${formatProviderName(choice)} stopped the answer with an error${quoteMessage(read, choice)}. /retry tries again.`;
  if (status !== undefined) return formatStatus(read, status, choice);
  return read.isPage
    ? formatWrongAddress(choice, "200, a web page")
    : formatNetworkFailure(read, choice, quoteMessage(read, choice));
}

/** Whether the model cannot read the whole conversation: then a summary helps. */
export function isTooLong(error: unknown): boolean {
  return isTooLongError(readProviderError(error));
}

function isTooLongError({ status, searchText, isReported }: ProviderError): boolean {
  if (status === 413) return true;
  const isRejected = status === undefined ? isReported : status === 400 || status === 422 || status === 500;
  return isRejected && TOO_LONG.test(searchText);
}

/** Whether the account has no credit: waiting does not help. */
export function hasNoCredit({ status, searchText, waitMs }: ProviderError): boolean {
  if (status === 402 || NO_CREDIT.test(searchText)) return true;
  return status === 429 && waitMs === undefined && searchText.includes("billing");
}

const NO_TOOLS =
  /(not|n't|cannot) (\w+ ){0,2}(support|use|call)\w* (\w+ ){0,3}(tool|function)|(tool|function)s?( \w+){0,4} (is|are)? ?(not supported|unsupported)|no endpoints found that support tool/;

/** Whether the model may answer the same request without tools. */
export function isToolRefusal(error: unknown): boolean {
  const { status, searchText } = readProviderError(error);
  return (
    (status === 400 || status === 404 || status === 422) && NO_TOOLS.test(searchText.replace(/[`'"\\]/g, ""))
  );
}

function formatStatus(read: ProviderError, status: number, choice: ModelChoice): string {
  const { searchText, isPage } = read;
  const provider = formatProviderName(choice);
  const { model } = choice;
  if (
    status === 401 ||
    ((status === 403 || searchText.includes("api_key_invalid")) && !isPage && WRONG_KEY.test(searchText))
  )
    return formatWrongKey(status, choice);
  if ((status === 400 || status === 403) && !isPage && WRONG_REGION.test(searchText))
    return `${provider} does not serve this country or region (${status}). Choose another model with /model.`;
  if (hasNoCredit(read))
    return `${provider} reports that the account has no credit left (${status}). Add credit there, or choose another model with /model.`;
  if ((status === 400 || status === 403) && FILTERED.test(searchText)) return formatFiltered(choice);
  if ((status === 400 || status === 404 || status === 422) && !isPage) {
    if (searchText.includes("no endpoints found"))
      return `${provider} finds no provider for the model ${model} (${status}). Choose another with /model, or check the privacy settings there.`;
    if (searchText.includes("try pulling it"))
      return `${provider} does not have the model ${model} (${status}). Pull it there, or choose another with /model.`;
    if (NO_MODEL.test(searchText) || (status === 404 && searchText.includes("model")))
      return `${provider} does not know the model ${model} (${status}). /model chooses another.`;
  }
  if (status === 403) return formatDenied(read, choice);
  if (status === 404 || status === 405 || (status < 500 && isPage))
    return formatWrongAddress(choice, String(status));
  if (status === 408) return `${provider} waited too long for the request (408). Try again.`;
  if (status === 429) return formatRateLimit(read, choice);
  if (status === 529 || OVERLOADED.test(searchText))
    return `${provider} is overloaded (${status}). ${formatRetryAdvice(read, "a few minutes")}`;
  if (status === 503 && searchText.includes("loading model"))
    return `${provider} is still loading the model ${model} (503). ${formatRetryAdvice(read, "a minute")}`;
  if (status === 502 || status === 503 || status === 504)
    return `${provider} is not available at the moment (${status}). ${formatRetryAdvice(read, "a few minutes")}`;
  if (status >= 500)
    return `${provider} has an internal error (${status}). ${formatRetryAdvice(read, "a few minutes")}`;
  return `${provider} rejected the request (${status})${quoteMessage(read, choice)}.`;
}

/** The provider withheld the answer, or the model refused to give one. */
export function formatFiltered(choice: ModelChoice): string {
  return `The content filter of ${lowerArticle(formatProviderName(choice))} blocked this. Change the request, or choose another model with /model.`;
}

function formatWrongKey(status: number, choice: ModelChoice): string {
  const { provider, apiKey } = choice;
  const variable = provider === "compatible" ? "POSTRIDER_API_KEY" : PROVIDER_KEY_VARIABLES[provider];
  return apiKey === undefined
    ? `${formatProviderName(choice)} asks for an API key (${status}). Set ${variable} or model.api_key and start Postrider again.`
    : `${formatProviderName(choice)} did not accept the API key (${status}). Check ${variable} or model.api_key and start Postrider again.`;
}

function formatDenied({ searchText, isPage }: ProviderError, choice: ModelChoice): string {
  const provider = formatProviderName(choice);
  if (!isPage && MODEL_DENIED.test(searchText))
    return `${provider} does not allow this key to use the model ${choice.model} (403). Choose another with /model, or change the permissions of the key.`;
  return `${provider} denied access (403). Check the permissions of the key, and whether a proxy or firewall blocks the request.`;
}

function formatRateLimit(read: ProviderError, choice: ModelChoice): string {
  const provider = lowerArticle(formatProviderName(choice));
  if (/request too large/.test(read.searchText))
    return `This conversation is larger than the rate limit of ${provider} allows in a minute (429). /compress shortens it, /model chooses another model.`;
  return `The rate limit of ${provider} is reached (429). ${formatRetryAdvice(read, "a minute")}`;
}

function formatWrongAddress(choice: ModelChoice, status: string): string {
  const problem = `${formatProviderName(choice)} has no model API at this address (${status}).`;
  return choice.baseUrl === undefined
    ? `${problem} Check whether a proxy answers in its place.`
    : `${problem} Check POSTRIDER_BASE_URL or model.base_url: the address usually ends in /v1.`;
}

function formatRetryAdvice({ waitMs }: ProviderError, otherwise: string): string {
  return `Try again in ${waitMs === undefined ? otherwise : formatWait(waitMs)}.`;
}

/** A provider name in the middle of a sentence. */
function lowerArticle(name: string): string {
  return name.replace(/^The /, "the ");
}

const MAX_QUOTE = 200;
/** Providers repeat parts of a wrong key; text that looks like a key is never shown. */
const KEY_LIKE = /\b(?:sk|pk|key|gsk|xai|AIza)[-_]?[\w*.-]{8,}|\bBearer\s+\S+/gi;

/** The provider's own message, for errors that have no sentence of their own. */
function quoteMessage(
  { message, isPage }: ProviderError,
  { apiKey = "", baseUrl = "" }: ModelChoice,
): string {
  const secrets = [apiKey, URL.parse(baseUrl)?.password ?? ""];
  const line = toOneLine(createSecretMask(secrets)(message).replaceAll(KEY_LIKE, "[secret]"));
  if (line === "" || isPage) return "";
  const short = line.length > MAX_QUOTE ? `${line.slice(0, MAX_QUOTE).toWellFormed()}…` : line;
  return `: "${short.replaceAll('"', "'")}"`;
}
