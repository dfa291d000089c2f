import { type ErrorCode, PostriderError } from "./errors.ts";

/** A store's result if a rule denies the request. A value, not an exception: in a batch it must not affect other operations. */
export interface Refused {
  readonly refused: ErrorCode;
  readonly reason: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export function refuse(code: ErrorCode, reason: string, details?: Record<string, unknown>): Refused {
  return details === undefined ? { refused: code, reason } : { refused: code, reason, details };
}

export function isRefused(value: unknown): value is Refused {
  return typeof value === "object" && value !== null && "refused" in value;
}

/** For callers that treat a refusal as an error. */
export function throwIfRefused<T>(value: T | Refused): T {
  if (isRefused(value)) {
    throw new PostriderError(value.refused, value.reason, { details: { ...value.details } });
  }
  return value;
}
