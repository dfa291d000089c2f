import { PostriderError } from "../core/errors.ts";

/** The store is gone for this process. */
export function isStoreClosed(error: unknown): boolean {
  return error instanceof PostriderError && error.code === "closed";
}
