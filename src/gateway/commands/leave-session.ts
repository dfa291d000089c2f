import { PostriderError } from "../../core/errors.ts";
import { escaped, type Place, plural } from "./command.ts";

/**
 * What must happen before a conversation goes elsewhere: the answer that is being written ends here, and what waits is
 * cancelled and said, because it was meant for the session that is left.
 */
export async function leaveSession(place: Place, conversation: number): Promise<string> {
  // First what waits: the end of an answer would take it up.
  const cancelled = await place.talk.cancelWaiting(conversation);
  const stopped = await place.talk.stop(conversation);
  const lines = stopped
    ? ["The answer that was being written has been stopped; what there was of it is kept."]
    : [];
  if (cancelled.length > 0) {
    lines.push(`${plural(cancelled.length, "message")} had not been answered yet and will not be:`);
    lines.push(...cancelled.map(quoted));
  }
  return lines.map((line) => `\n\n${line}`).join("");
}

/** Word by word, so that it can be said again. */
function quoted(text: string): string {
  const lines = text.split("\n").map((line) => escaped(line).replace(/^(\s*\d*)([-#+.)])/, "$1\\$2"));
  return lines.map((line) => `> ${line}`).join("\n");
}

/** For what changes a session under the answer that is being written in it. */
export function refuseWhileAnswering(place: Place, session: string): void {
  if (!place.talk.isAnswering(session)) return;
  throw new PostriderError("session_busy", "An answer is being written. Wait for it, or /stop it first.");
}
