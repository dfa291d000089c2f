import { RequestError } from "@agentclientprotocol/sdk/unstable";
import { type ErrorCode, PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";

const NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

/** Everything else is a failure of ours or of the world around. */
const CODES: Readonly<Partial<Record<ErrorCode, number>>> = {
  not_found: NOT_FOUND,
  invalid_input: INVALID_PARAMS,
  too_large: INVALID_PARAMS,
  not_allowed: INVALID_PARAMS,
  ambiguous: INVALID_PARAMS,
  title_taken: INVALID_PARAMS,
};

/** What the editor is told: our sentence, our stable code in `data`. Of what must not happen, only that it did. */
export function toRequestError(error: unknown, log: Log): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof PostriderError)
    return new RequestError(CODES[error.code] ?? INTERNAL, error.message, { code: error.code });
  log.error({ error }, "a request failed");
  return new RequestError(INTERNAL, "Postrider failed; its log says why.", { code: "internal" });
}

export function editorSessionNotFound(id: string): PostriderError {
  return new PostriderError("not_found", `There is no session ${id.slice(0, 80)} here.`);
}

/** It is open here and was deleted elsewhere: a prompt must not bring it back empty. */
export function editorSessionDeleted(id: string): PostriderError {
  return new PostriderError(
    "not_found",
    `Session ${id.slice(0, 80)} was deleted in another window, so nothing was said. Open another thread.`,
  );
}
