import { PostriderError } from "../../core/errors.ts";
import type { CopyRow, CopyValue } from "./copy-end.ts";

/** A key as JSON can contain it. Keys consist of whole numbers and texts. */
export function encodeKey(key: CopyRow): string[] {
  return key.map((value) => (typeof value === "bigint" ? `i${value}` : `t${value}`));
}

export function decodeKey(key: readonly string[]): CopyValue[] {
  return key.map((text) => {
    if (text.startsWith("i")) return BigInt(text.slice(1));
    if (text.startsWith("t")) return text.slice(1);
    throw new PostriderError("corrupt", "The state of the copy in the target is not readable.");
  });
}

/** For people. */
export function formatKey(key: CopyRow): string {
  return key.map(String).join(" ");
}
