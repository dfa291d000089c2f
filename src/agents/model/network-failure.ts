import { formatProviderName, type ModelChoice } from "./provider.ts";
import type { ProviderError } from "./provider-error.ts";

const TIMED_OUT: ReadonlySet<string> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);
const NO_NAME: ReadonlySet<string> = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_NODATA", "EAI_NONAME"]);
const NO_ROUTE: ReadonlySet<string> = new Set([
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** The server does not support TLS at this address, or another version of it. */
const NO_TLS = /^(EPROTO|ERR_SSL_)/;
const CERTIFICATE = /^(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Why the request did not reach the provider, or the answer did not reach Postrider. */
export function formatNetworkFailure(read: ProviderError, choice: ModelChoice, quoted: string): string {
  const { code, name } = read;
  const provider = formatProviderName(choice);
  const inSentence = provider.replace(/^The /, "the ");
  const hasAddress = choice.baseUrl !== undefined;
  const check = hasAddress
    ? "Check the network, and POSTRIDER_BASE_URL or model.base_url."
    : "Check the network.";
  if (code === "ECONNREFUSED")
    return hasAddress
      ? `${provider} refused the connection (${code}). Check that it runs, and POSTRIDER_BASE_URL or model.base_url.`
      : `${provider} refused the connection (${code}). Check the network.`;
  if (code !== undefined && NO_NAME.has(code))
    return `${provider} was not found: its host name has no address (${code}). ${check}`;
  if (code !== undefined && NO_ROUTE.has(code)) return `${provider} cannot be reached (${code}). ${check}`;
  if (code !== undefined && TIMED_OUT.has(code))
    return `${provider} sent nothing for several minutes, so the request was given up (${code}). Try again later.`;
  if (code !== undefined && NO_TLS.test(code))
    return `No secure connection to ${inSentence} (${code}). ${hasAddress ? "Check POSTRIDER_BASE_URL or model.base_url: a server without TLS has an address that starts with http://." : "Check whether a proxy answers in its place."}`;
  if (code !== undefined && CERTIFICATE.test(code))
    return `The certificate of ${inSentence} is not trusted (${code}). Check the address and the clock; NODE_EXTRA_CA_CERTS names a file with your own certificate authority.`;
  if (name === "AI_JSONParseError" || name === "AI_TypeValidationError")
    return `${provider} sent an answer that is not in the format of its API. ${hasAddress ? "Check the server and its version." : "Try again later."}`;
  if (
    name === "AI_NoOutputGeneratedError" ||
    name === "AI_EmptyResponseBodyError" ||
    name === "AI_InvalidResponseDataError"
  )
    return formatCutConnection(choice);
  if (code === undefined && name !== "AI_APICallError")
    return `The request to ${inSentence} failed${quoted}.`;
  return `The connection to ${inSentence} broke before the answer was complete${code === undefined ? "" : ` (${code})`}. /retry tries again.`;
}

/** Whether a retry cannot help, or would take minutes. */
export function isLastingNetworkFailure(code: string | undefined): boolean {
  if (code === undefined) return false;
  return code === "ENOTFOUND" || TIMED_OUT.has(code) || NO_TLS.test(code) || CERTIFICATE.test(code);
}

/** The stream ended without an error, but before the end of the answer. */
export function formatCutConnection(choice: ModelChoice): string {
  return `${formatProviderName(choice)} ended the connection before the answer was complete. /retry tries again.`;
}
