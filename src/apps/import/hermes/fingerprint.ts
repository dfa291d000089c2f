import { createHash } from "node:crypto";
import { messageToJson } from "../../../core/json.ts";
import type { Message, NewMessage } from "../../../core/message.ts";

/** The canonical form of a message for comparison: all fields except its number, in a fixed order. */
export function toCanonicalMessage(message: NewMessage | Message): string {
  const { session: _session, seq: _seq, ...said } = messageToJson(message);
  return JSON.stringify(said);
}

/** The hash of all messages. Parts refer to bytes by their own hash. */
export function computeFingerprint(canonicals: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const said of canonicals) hash.update(said).update("\n");
  return hash.digest("hex");
}

/** The number of equal messages at the start of both lists. */
export function countCommonStart(left: readonly string[], right: readonly string[]): number {
  let length = 0;
  while (length < left.length && length < right.length && left[length] === right[length]) length += 1;
  return length;
}
