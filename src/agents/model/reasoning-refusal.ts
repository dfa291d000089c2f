interface RefusedCall {
  readonly statusCode?: number;
  readonly responseBody?: string;
  readonly message?: string;
  readonly lastError?: unknown;
}

/** How providers refuse reasoning that they cannot verify, for example because the key belongs to another account now. */
const REFUSED =
  /signature|encrypted[_ ]content|redacted_thinking|thinking.{0,20}block|reasoning[_ ](item|content|input)|type .{0,3}reasoning/;

/** Whether the provider may accept the request without the reasoning of earlier responses. */
export function isReasoningRefusal(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { statusCode, responseBody = "", message = "", lastError } = error as RefusedCall;
  if (lastError !== undefined) return isReasoningRefusal(lastError);
  if (statusCode !== 400 && statusCode !== 404 && statusCode !== 422) return false;
  return REFUSED.test(`${responseBody} ${message}`.slice(0, 10_000).toLowerCase());
}
