import type { Conversation, PolicyDecision } from "../core/conversation.ts";
import { DECISION_LABELS, formatResetPolicy, RESET_REASON_LABELS } from "../core/decision-labels.ts";
import { isShared } from "../core/identity.ts";
import { getChatAudience } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import { formatClockTime } from "../core/transcript.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  escapeMarkdown,
  formatSessionName,
  requireCurrent,
} from "./command.ts";

const SHOWN = 5;

export const whyChatCommand: ChatCommand = {
  name: "why",
  summary: "why this conversation is in this session, and who may see it",
  isReadOnly: true,
  async run(context) {
    const { conversation, session } = await requireCurrent(context);
    const decisions = await context.sessions.decisions(context.who, conversation.number);
    const { policy, zone } = context;
    return {
      text: [
        `This is ${formatSessionName(session)}. What led here, newest first:`,
        "",
        ...decisions.slice(0, SHOWN).map((decision) => `- ${formatDecision(decision, zone)}`),
        "",
        "And besides:",
        "",
        `- ${formatSharing(context, conversation)}`,
        `- ${policy.mode === "none" ? "it" : "it starts afresh"} ${formatResetPolicy(policy, zone)}`,
        `- ${formatAudience(context, session)}`,
      ].join("\n"),
    };
  },
};

function formatDecision({ at, decision, reason, from, to }: PolicyDecision, zone: string): string {
  const because =
    reason === "idle" || reason === "daily"
      ? ` ${RESET_REASON_LABELS[reason]}`
      : reason && ` (${escapeMarkdown(reason)})`;
  const way = [from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(" ");
  return `${formatClockTime(at, zone)} ${DECISION_LABELS[decision]}${because ?? ""}${way === "" ? "" : `: ${way}`}`;
}

/** As the rules were when the conversation began. */
function formatSharing({ source }: ChatCommandContext, { scope }: Conversation): string {
  if (source.chatType === "dm") return "a direct chat: only you speak here";
  const where = source.threadId === undefined ? "this chat" : "this thread";
  return isShared(source, scope)
    ? `all who speak in ${where} share one conversation`
    : `in ${where} each has a conversation of their own; this one is yours`;
}

function formatAudience({ source }: ChatCommandContext, { owner, audience: seen }: Session): string {
  const chat = getChatAudience(source);
  if (chat === undefined)
    return seen === undefined
      ? "you alone may see it, in the terminal and in direct chats"
      : "it was also said in a chat with others, who read along there";
  return owner === chat
    ? "whoever speaks in this chat may see it, here and nowhere else"
    : "you may see it here and in direct chats; the others read along here, and cannot go on in it";
}
