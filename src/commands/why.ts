import type { Conversation, PolicyDecision } from "../core/conversation.ts";
import { DECISION_WORDS, policyWords, RESET_REASON_WORDS } from "../core/decision-words.ts";
import { isShared } from "../core/identity.ts";
import { chatOf } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import { clockTime } from "../core/transcript.ts";
import { type ChatCommand, escaped, here, nameOf, type Place } from "./command.ts";

const SHOWN = 5;

export const why: ChatCommand = {
  name: "why",
  summary: "why this conversation is in this session, and who may see it",
  looks: true,
  async run(place) {
    const { conversation, session } = await here(place);
    const decisions = await place.sessions.decisions(place.who, conversation.number);
    const { policy, zone } = place;
    return {
      text: [
        `This is ${nameOf(session)}. What led here, newest first:`,
        "",
        ...decisions.slice(0, SHOWN).map((decision) => `- ${decided(decision, zone)}`),
        "",
        "And besides:",
        "",
        `- ${sharing(place, conversation)}`,
        `- ${policy.mode === "none" ? "it" : "it starts afresh"} ${policyWords(policy, zone)}`,
        `- ${audience(place, session)}`,
      ].join("\n"),
    };
  },
};

function decided({ at, decision, reason, from, to }: PolicyDecision, zone: string): string {
  const because =
    reason === "idle" || reason === "daily"
      ? ` ${RESET_REASON_WORDS[reason]}`
      : reason && ` (${escaped(reason)})`;
  const way = [from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(" ");
  return `${clockTime(at, zone)} ${DECISION_WORDS[decision]}${because ?? ""}${way === "" ? "" : `: ${way}`}`;
}

/** As the rules were when the conversation began. */
function sharing({ source }: Place, { scope }: Conversation): string {
  if (source.chatType === "dm") return "a direct chat: only you speak here";
  const where = source.threadId === undefined ? "this chat" : "this thread";
  return isShared(source, scope)
    ? `all who speak in ${where} share one conversation`
    : `in ${where} each has a conversation of their own; this one is yours`;
}

function audience({ source }: Place, { owner, audience: seen }: Session): string {
  const chat = chatOf(source);
  if (chat === undefined)
    return seen === undefined
      ? "you alone may see it, in the terminal and in direct chats"
      : "it was also said in a chat with others, who read along there";
  return owner === chat
    ? "whoever speaks in this chat may see it, here and nowhere else"
    : "you may see it here and in direct chats; the others read along here, and cannot go on in it";
}
