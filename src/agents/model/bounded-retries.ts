import type { APICallError, LanguageModel } from "ai";
import { hasNoCredit, isTooLong } from "./failure.ts";
import { isLastingNetworkFailure } from "./network-failure.ts";
import { isPageType, readProviderError } from "./provider-error.ts";

/** A longer wait is not made: the failure tells the person the time instead. */
const MAX_WAIT_MS = 10_000;

type Model = Exclude<LanguageModel, string>;

/** The same model, whose errors allow a retry only if it can help and the wait is short. */
export async function boundRetries(model: Model): Promise<Model> {
  const ai = await import("ai");
  return ai.wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: "v4",
      async wrapStream({ doStream }) {
        try {
          const result = await doStream();
          const { headers: responseHeaders = {} } = result.response ?? {};
          if (!isPageType(responseHeaders)) return result;
          await result.stream.cancel();
          const page = { message: "", url: "", requestBodyValues: {}, responseHeaders, isRetryable: false };
          throw new ai.APICallError(page);
        } catch (error) {
          if (!ai.APICallError.isInstance(error) || !error.isRetryable) throw error;
          throw new ai.APICallError(boundErrorFields(error));
        }
      },
    },
  });
}

function boundErrorFields(error: APICallError): ConstructorParameters<typeof APICallError>[0] {
  const { message, url, requestBodyValues, statusCode, responseBody, cause, data } = error;
  const read = readProviderError(error);
  const { waitMs, code } = read;
  const isLong = waitMs !== undefined && waitMs > MAX_WAIT_MS;
  const isRetryable = !(isLong || hasNoCredit(read) || isTooLong(error) || isLastingNetworkFailure(code));
  return {
    message,
    url,
    requestBodyValues,
    cause,
    data,
    isRetryable,
    // The client library reads the time to wait only from headers; some providers write it into the body.
    responseHeaders: {
      ...error.responseHeaders,
      ...(waitMs !== undefined && { "retry-after-ms": String(waitMs) }),
    },
    ...(statusCode !== undefined && { statusCode }),
    ...(responseBody !== undefined && { responseBody }),
  };
}
