import { buildMemoryPrompt, type Memory } from "../core/memory.ts";
import { getText, type Message, textPart } from "../core/message.ts";

const REQUEST =
  "The conversation above is about to be put away. Save with the memory tool what is worth remembering of the person in later conversations: who they are, what they want and prefer, what was decided, what is still open. One short entry for each, in their language. Leave out what is remembered already, what only mattered today, and every password or key. If nothing is worth it, save nothing. Nobody reads a reply, so write none.";

const WARNING =
  "It may be newer than the conversation above: never overwrite or contradict an entry that is newer. Replace one only if the conversation shows that it was wrong or is over.";

/** What was said, in characters: the newest of it. */
const MAX_READ_CHARACTERS = 40_000;

/** What an agent is given to look through a session: what was said, what is remembered, and what it is to do. */
export function buildFlushHistory(
  shown: readonly Message[],
  { session, upTo, memory }: { readonly session: string; readonly upTo: number; readonly memory: Memory },
): readonly Message[] {
  const said = selectNewest(shown.filter((one) => one.session !== session || one.seq <= upTo));
  const remembered = buildMemoryPrompt([memory]);
  const words = [REQUEST, ...(remembered === undefined ? [] : [remembered, WARNING])];
  return [...said, { session, seq: upTo + 1, at: 0, role: "user", parts: [textPart(words.join("\n\n"))] }];
}

/** Words of people and of the agent, and what stands for those that were summed up; neither tools nor pictures. */
function selectNewest(shown: readonly Message[]): readonly Message[] {
  const result: Message[] = [];
  let left = MAX_READ_CHARACTERS;
  for (const { session, seq, at, role, parts, extra } of shown.toReversed()) {
    const isSaid = role === "user" || role === "assistant" || (role === "note" && extra?.summary === true);
    const words = isSaid ? getText({ parts }).trim() : "";
    if (words === "") continue;
    const kept = words.length <= left ? words : words.slice(words.length - left).toWellFormed();
    result.push({ session, seq, at, role: role === "note" ? "user" : role, parts: [textPart(kept)] });
    left -= kept.length;
    if (left <= 0) break;
  }
  return result.reverse();
}
