import type { Chat, Message, User } from "grammy/types";
import { type Source, source } from "../../core/source.ts";

/** The chat and sender of a message. */
export function buildTelegramSource(message: Message, by: MessageSender = getMessageSender(message)): Source {
  const { chat } = message;
  return source({
    platform: "telegram",
    chatId: chat.id,
    chatType: toChatType(chat),
    chatName: chat.type === "private" ? formatName(chat) : chat.title,
    userId: by?.id,
    userName: by?.name,
    // Replies in plain groups have a thread id too, but only a topic is a separate conversation.
    threadId: message.is_topic_message === true ? message.message_thread_id : undefined,
  });
}

export type MessageSender = { readonly id: number; readonly name: string | undefined } | undefined;

/**
 * Channel posts have no sender. All people who speak for a chat share one user id, so the id of the chat they speak for is
 * used instead.
 */
function getMessageSender({ chat, from, sender_chat: senderChat }: Message): MessageSender {
  if (chat.type === "channel") return undefined;
  if (senderChat !== undefined)
    return { id: senderChat.id, name: "title" in senderChat ? senderChat.title : undefined };
  return from && toMessageSender(from);
}

export function toMessageSender(user: User): MessageSender {
  return { id: user.id, name: formatName(user) };
}

function formatName(who: { readonly first_name?: string; readonly last_name?: string }): string {
  return [who.first_name, who.last_name].filter(Boolean).join(" ");
}

export function isGroupChat(chat: Chat): boolean {
  return chat.type === "group" || chat.type === "supergroup";
}

function toChatType(chat: Chat): string {
  if (chat.type === "private") return "dm";
  return isGroupChat(chat) ? "group" : "channel";
}
