import { buildMemoryPrompt, type Memory } from "../core/memory.ts";
import { getText, type Message, textPart } from "../core/message.ts";

const REQUEST =
  "The conversation above is about to be put away. Save with the memory tool what is worth remembering of the person in later conversations: who they are, what they want and prefer, what was decided, what is still open. One short entry for each, in their language. Leave out what is remembered already, what only mattered today, and every password or key. If nothing is worth it, save nothing. Nobody reads a reply, so write none.";

const WARNING =
  "It may be newer than the conversation above: never overwrite or contradict an entry that is newer. Replace one only if the conversation shows that it was wrong or is over.";

/** The newest part of the conversation, in characters. */
const MAX_READ_CHARACTERS = 40_000;

/** Builds the messages that ask an agent to flush a session: the conversation, the memory, and the request. */
export function buildFlushHistory(
  history: readonly Message[],
  { session, upTo, memory }: { readonly session: string; readonly upTo: number; readonly memory: Memory },
): readonly Message[] {
  const newest = selectNewest(history.filter((one) => one.session !== session || one.seq <= upTo));
  const remembered = buildMemoryPrompt([memory]);
  const words = [REQUEST, ...(remembered === undefined ? [] : [remembered, WARNING])];
  return [...newest, { session, seq: upTo + 1, at: 0, role: "user", parts: [textPart(words.join("\n\n"))] }];
}

/** Texts of people, of the agent and of summaries; no tools, no images. */
function selectNewest(history: readonly Message[]): readonly Message[] {
  const result: Message[] = [];
  let left = MAX_READ_CHARACTERS;
  for (const { session, seq, at, role, parts, extra } of history.toReversed()) {
    const isText = role === "user" || role === "assistant" || (role === "note" && extra?.summary === true);
    const text = isText ? getText({ parts }).trim() : "";
    if (text === "") continue;
    const kept = text.length <= left ? text : text.slice(text.length - left).toWellFormed();
    result.push({ session, seq, at, role: role === "note" ? "user" : role, parts: [textPart(kept)] });
    left -= kept.length;
    if (left <= 0) break;
  }
  return result.reverse();
}
