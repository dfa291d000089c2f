import { PostriderError } from "../../core/errors.ts";
import type { Place } from "./command.ts";
import { plural } from "./command.ts";

/**
 * What must happen before a conversation goes elsewhere: the answer that is being written ends here, and what waits is
 * cancelled and said, because it was meant for the session that is left.
 */
export async function leaveSession(place: Place, conversation: number): Promise<string> {
  const stopped = await place.talk.stop();
  const cancelled = await place.talk.cancelWaiting(conversation);
  const lines = stopped
    ? ["The answer that was being written has been stopped; what there was of it is kept."]
    : [];
  if (cancelled.length > 0) {
    lines.push(`${plural(cancelled.length, "message")} had not been answered yet and will not be:`);
    lines.push(...cancelled.map((text) => `> ${text.replaceAll("\n", "\n> ")}`));
  }
  return lines.map((line) => `\n\n${line}`).join("");
}

/** For what changes a session under the answer that is being written in it. */
export function refuseWhileAnswering(place: Place): void {
  if (!place.talk.isAnswering()) return;
  throw new PostriderError("session_busy", "An answer is being written. Wait for it, or /stop it first.");
}
