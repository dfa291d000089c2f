import { RequestError } from "@agentclientprotocol/sdk/unstable";
import { type ErrorCode, PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";

const NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

/** All other codes are internal errors. */
const CODES: Readonly<Partial<Record<ErrorCode, number>>> = {
  not_found: NOT_FOUND,
  invalid_input: INVALID_PARAMS,
  too_large: INVALID_PARAMS,
  not_allowed: INVALID_PARAMS,
  ambiguous: INVALID_PARAMS,
  title_taken: INVALID_PARAMS,
};

/** An error of the protocol with our sentence, and our stable code in `data`. Unexpected errors are only logged. */
export function toRequestError(error: unknown, log: Log): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof PostriderError)
    return new RequestError(CODES[error.code] ?? INTERNAL, error.message, { code: error.code });
  log.error({ error }, "a request of the editor failed");
  return new RequestError(INTERNAL, "Postrider failed; its log says why.", { code: "internal" });
}

export function editorSessionNotFound(id: string): PostriderError {
  return new PostriderError("not_found", `There is no session ${id.slice(0, 80)} here.`);
}

/** For an open session that another process deleted: a prompt must not create it again. */
export function editorSessionDeleted(id: string): PostriderError {
  return new PostriderError(
    "not_found",
    `Session ${id.slice(0, 80)} was deleted in another window, so the prompt was not stored. Open another thread.`,
  );
}
