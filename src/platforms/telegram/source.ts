import type { Chat, Message, User } from "grammy/types";
import { type Source, source } from "../../core/source.ts";

/** Where a message was said and by whom. */
export function buildTelegramSource(message: Message, by: MessageSender = getMessageSender(message)): Source {
  const { chat } = message;
  return source({
    platform: "telegram",
    chatId: chat.id,
    chatType: toChatType(chat),
    chatName: chat.type === "private" ? formatName(chat) : chat.title,
    userId: by?.id,
    userName: by?.name,
    // Replies in plain groups have a thread id too; only in a topic it is a place of its own.
    threadId: message.is_topic_message === true ? message.message_thread_id : undefined,
  });
}

export type MessageSender = { readonly id: number; readonly name: string | undefined } | undefined;

/**
 * In channels nobody is known. Whoever speaks for a group or a channel shares one id with all who do so anywhere, so they
 * are known by the chat for which they speak.
 */
function getMessageSender({ chat, from, sender_chat: behind }: Message): MessageSender {
  if (chat.type === "channel") return undefined;
  if (behind !== undefined) return { id: behind.id, name: "title" in behind ? behind.title : undefined };
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
