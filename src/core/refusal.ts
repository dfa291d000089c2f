import { type ErrorCode, PostriderError } from "./errors.ts";

/**
 * What a store answers when a rule, not a fault, stands in the way. A value, not an exception: in a batch of
 * operations one refusal must not disturb the others.
 */
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

/** For callers to whom a refusal is an error. */
export function throwIfRefused<T>(value: T | Refused): T {
  if (isRefused(value)) {
    throw new PostriderError(value.refused, value.reason, { details: { ...value.details } });
  }
  return value;
}
