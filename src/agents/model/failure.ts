import { PostriderError } from "../../core/errors.ts";
import { onOneLine } from "../../core/printable.ts";
import { maskedBy } from "../../processes/masking.ts";
import { noKeyWords } from "./choice.ts";
import { networkWords } from "./network-failure.ts";
import { KEYS, type ModelChoice, nameOf } from "./provider.ts";
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

/** Why a request failed and what to do, for the person who waits. Holds no key and no page, and is never long. */
export function failureWords(error: unknown, choice: ModelChoice): string {
  if (error instanceof PostriderError) return error.message;
  const read = readProviderError(error);
  const { status, name } = read;
  if (isTooLongRead(read))
    return `The conversation is too long for ${choice.model}. /compress shortens it, /new starts a new one.`;
  if (name === "AI_LoadAPIKeyError") return noKeyWords(choice.provider);
  if (status === undefined && read.isReported)
    return `${nameOf(choice)} stopped the answer with an error${quote(read, choice)}. /retry asks again.`;
  if (status !== undefined) return statusWords(read, status, choice);
  return read.isPage
    ? wrongAddress(choice, "200, a web page")
    : networkWords(read, choice, quote(read, choice));
}

/** Whether the model cannot read the whole conversation: then a summary helps. */
export function isTooLong(error: unknown): boolean {
  return isTooLongRead(readProviderError(error));
}

function isTooLongRead({ status, said, isReported }: ProviderError): boolean {
  if (status === 413) return true;
  const isRejected = status === undefined ? isReported : status === 400 || status === 422 || status === 500;
  return isRejected && TOO_LONG.test(said);
}

/** Whether the account cannot pay: waiting does not help. */
export function hasNoCredit({ status, said, waitMs }: ProviderError): boolean {
  if (status === 402 || NO_CREDIT.test(said)) return true;
  return status === 429 && waitMs === undefined && said.includes("billing");
}

const NO_TOOLS =
  /(not|n't|cannot) (\w+ ){0,2}(support|use|call)\w* (\w+ ){0,3}(tool|function)|(tool|function)s?( \w+){0,4} (is|are)? ?(not supported|unsupported)|no endpoints found that support tool/;

/** Whether the model would have answered if it had been offered no tools. */
export function refusesTools(error: unknown): boolean {
  const { status, said } = readProviderError(error);
  return (status === 400 || status === 404 || status === 422) && NO_TOOLS.test(said.replace(/[`'"\\]/g, ""));
}

function statusWords(read: ProviderError, status: number, choice: ModelChoice): string {
  const { said, isPage } = read;
  const who = nameOf(choice);
  const { model } = choice;
  if (
    status === 401 ||
    ((status === 403 || said.includes("api_key_invalid")) && !isPage && WRONG_KEY.test(said))
  )
    return wrongKey(status, choice);
  if ((status === 400 || status === 403) && !isPage && WRONG_REGION.test(said))
    return `${who} does not serve this country or region (${status}). Choose another model with /model.`;
  if (hasNoCredit(read))
    return `${who} reports that the account has no credit left (${status}). Add credit there, or choose another model with /model.`;
  if ((status === 400 || status === 403) && FILTERED.test(said)) return filteredWords(choice);
  if ((status === 400 || status === 404 || status === 422) && !isPage) {
    if (said.includes("no endpoints found"))
      return `${who} finds no provider for the model ${model} (${status}). Choose another with /model, or check the privacy settings there.`;
    if (said.includes("try pulling it"))
      return `${who} does not have the model ${model} (${status}). Pull it there, or choose another with /model.`;
    if (NO_MODEL.test(said) || (status === 404 && said.includes("model")))
      return `${who} does not know the model ${model} (${status}). /model chooses another.`;
  }
  if (status === 403) return deniedWords(read, choice);
  if (status === 404 || status === 405 || (status < 500 && isPage))
    return wrongAddress(choice, String(status));
  if (status === 408) return `${who} waited too long for the request (408). Try again.`;
  if (status === 429) return limitWords(read, choice);
  if (status === 529 || OVERLOADED.test(said))
    return `${who} is overloaded (${status}). ${tryAgain(read, "a few minutes")}`;
  if (status === 503 && said.includes("loading model"))
    return `${who} is still loading the model ${model} (503). ${tryAgain(read, "a minute")}`;
  if (status === 502 || status === 503 || status === 504)
    return `${who} is not available at the moment (${status}). ${tryAgain(read, "a few minutes")}`;
  if (status >= 500) return `${who} has an internal error (${status}). ${tryAgain(read, "a few minutes")}`;
  return `${who} rejected the request (${status})${quote(read, choice)}.`;
}

/** The provider withheld the answer, or the model refused to give one. */
export function filteredWords(choice: ModelChoice): string {
  return `The content filter of ${inside(nameOf(choice))} blocked this. Change the request, or choose another model with /model.`;
}

function wrongKey(status: number, choice: ModelChoice): string {
  const { provider, apiKey } = choice;
  const variable = provider === "compatible" ? "POSTRIDER_API_KEY" : KEYS[provider];
  return apiKey === undefined
    ? `${nameOf(choice)} asks for an API key (${status}). Set ${variable} or model.api_key and start Postrider again.`
    : `${nameOf(choice)} did not accept the API key (${status}). Check ${variable} or model.api_key and start Postrider again.`;
}

function deniedWords({ said, isPage }: ProviderError, choice: ModelChoice): string {
  const who = nameOf(choice);
  if (!isPage && MODEL_DENIED.test(said))
    return `${who} does not allow this key to use the model ${choice.model} (403). Choose another with /model, or change the permissions of the key.`;
  return `${who} denied access (403). Check the permissions of the key, and whether a proxy or firewall blocks the request.`;
}

function limitWords(read: ProviderError, choice: ModelChoice): string {
  const who = inside(nameOf(choice));
  if (/request too large/.test(read.said))
    return `This conversation is larger than the rate limit of ${who} allows in a minute (429). /compress shortens it, /model chooses another model.`;
  return `The rate limit of ${who} is reached (429). ${tryAgain(read, "a minute")}`;
}

function wrongAddress(choice: ModelChoice, status: string): string {
  const what = `${nameOf(choice)} has no model API at this address (${status}).`;
  return choice.baseUrl === undefined
    ? `${what} Check whether a proxy answers in its place.`
    : `${what} Check POSTRIDER_BASE_URL or model.base_url: the address usually ends in /v1.`;
}

function tryAgain({ waitMs }: ProviderError, otherwise: string): string {
  return `Try again in ${waitMs === undefined ? otherwise : formatWait(waitMs)}.`;
}

/** A name in the middle of a sentence. */
function inside(who: string): string {
  return who.replace(/^The /, "the ");
}

const LONGEST_QUOTE = 200;
/** Providers repeat a wrong key in parts; nothing that looks like one is shown. */
const KEY_LIKE = /\b(?:sk|pk|key|gsk|xai|AIza)[-_]?[\w*.-]{8,}|\bBearer\s+\S+/gi;

/** The provider's own message, for errors that have no sentence of their own. */
function quote({ message, isPage }: ProviderError, { apiKey = "", baseUrl = "" }: ModelChoice): string {
  const secrets = [apiKey, URL.parse(baseUrl)?.password ?? ""];
  const line = onOneLine(maskedBy(secrets)(message).replaceAll(KEY_LIKE, "[secret]"));
  if (line === "" || isPage) return "";
  const short = line.length > LONGEST_QUOTE ? `${line.slice(0, LONGEST_QUOTE).toWellFormed()}…` : line;
  return `: "${short.replaceAll('"', "'")}"`;
}
