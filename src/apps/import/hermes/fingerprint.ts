import { createHash } from "node:crypto";
import { messageToJson } from "../../../core/json.ts";
import type { Message, NewMessage } from "../../../core/message.ts";

/** One message in the one form in which two are compared: every field but its place, names and order fixed. */
export function toCanonicalMessage(message: NewMessage | Message): string {
  const { session: _session, seq: _seq, ...said } = messageToJson(message);
  return JSON.stringify(said);
}

/** The hash of all that was said, message by message. Bytes count by the hash that parts name them by. */
export function computeFingerprint(canonicals: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const said of canonicals) hash.update(said).update("\n");
  return hash.digest("hex");
}

/** How many messages the two have in common from the first on. */
export function countCommonStart(left: readonly string[], right: readonly string[]): number {
  let length = 0;
  while (length < left.length && length < right.length && left[length] === right[length]) length += 1;
  return length;
}
