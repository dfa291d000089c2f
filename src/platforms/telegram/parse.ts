import type { CallbackQuery, Message, Update } from "grammy/types";
import type { Source } from "../../core/source.ts";
import { type Attachment, parseAttachment } from "./attachment.ts";
import { describeContent, formatForward, formatQuote } from "./describe-content.ts";
import { type BotUser, isAddressed, isForOtherBot, readTelegramText } from "./is-addressed.ts";
import { readButtonLine } from "./keyboard.ts";
import { buildTelegramSource, isGroupChat, toMessageSender } from "./source.ts";

/** A parsed update. Its attachments are not downloaded yet. */
export type ParsedUpdate =
  | {
      readonly kind: "message" | "edited";
      readonly source: Source;
      readonly messageId: string;
      readonly sentAt: number;
      readonly at: number;
      readonly texts: readonly string[];
      readonly attachments: readonly Attachment[];
    }
  | {
      readonly kind: "pressed";
      readonly query: string;
      readonly source: Source;
      readonly messageId: string;
      /** Absent if the button's message is too old. */
      readonly line: string | undefined;
    }
  | { readonly kind: "moved"; readonly from: number; readonly to: number }
  | { readonly kind: "nothing" };

export interface ParseOptions {
  readonly me: BotUser;
  readonly requireMention: boolean;
  /** Whether this is the last message that we sent to its chat. A reply to it needs no quote. */
  isOurLast(message: Message): boolean;
}

const NOTHING: ParsedUpdate = { kind: "nothing" };

/** Parses one update, or the updates of an album in order. */
export function parseUpdates(updates: readonly Update[], options: ParseOptions): ParsedUpdate {
  const [first] = updates;
  if (first?.callback_query !== undefined) return parsePress(first.callback_query);
  const messages = updates.flatMap((update) => getUpdateMessage(update) ?? []);
  const [message] = messages;
  if (first === undefined || message === undefined) return NOTHING;
  if (message.migrate_to_chat_id !== undefined) {
    return { kind: "moved", from: message.chat.id, to: message.migrate_to_chat_id };
  }
  const isEdit = updates.some(
    (update) => (update.edited_message ?? update.edited_channel_post) !== undefined,
  );
  // A live location is edited continuously, without a message from the person.
  if (isEdit && message.location !== undefined) return NOTHING;
  if (!isForUs(messages, options)) return NOTHING;
  const attachments = messages.flatMap((part) => parseAttachment(part) ?? []);
  const texts = buildTexts(messages, options);
  if (attachments.length === 0 && texts.length === 0) return NOTHING; // a service message
  return {
    kind: isEdit ? "edited" : "message",
    source: buildTelegramSource(message),
    messageId: String(message.message_id),
    sentAt: message.date * 1000,
    at: Math.max(...messages.map((part) => part.edit_date ?? part.date)) * 1000,
    texts,
    attachments,
  };
}

export function getUpdateMessage(update: Update): Message | undefined {
  return update.message ?? update.edited_message ?? update.channel_post ?? update.edited_channel_post;
}

function isForUs(messages: readonly Message[], { me, requireMention }: ParseOptions): boolean {
  const [message] = messages;
  if (message === undefined || message.from?.id === me.id) return false;
  // Two bots must not answer each other endlessly. A person who speaks for a chat is marked as a bot but is none.
  if (message.from?.is_bot === true && message.sender_chat === undefined) return false;
  if (!isGroupChat(message.chat)) return true;
  if (messages.some((part) => isForOtherBot(part, me))) return false;
  return !requireMention || messages.some((part) => isAddressed(part, me));
}

function buildTexts(messages: readonly Message[], { me, isOurLast }: ParseOptions): readonly string[] {
  const [message] = messages;
  const texts = messages.map((part) => readTelegramText(part, me)).filter((text) => text.trim() !== "");
  const descriptions = messages.flatMap((part) => describeContent(part) ?? []);
  const forwarded = message && formatForward(message);
  // A forwarded command is no command. A command that is a reply stays one, so it gets no quote.
  if (forwarded !== undefined) return [forwarded, ...texts, ...descriptions];
  if (message === undefined || texts[0]?.startsWith("/")) return [...texts, ...descriptions];
  const reply = message.reply_to_message;
  const quote = reply !== undefined && isOurLast(reply) ? undefined : formatQuote(message);
  return quote === undefined ? [...texts, ...descriptions] : [quote, ...texts, ...descriptions];
}

function parsePress(query: CallbackQuery): ParsedUpdate {
  const { message, data } = query;
  // Buttons of inline results have no chat for an answer.
  if (message === undefined || data === undefined) return NOTHING;
  const keyboard = "reply_markup" in message ? message.reply_markup?.inline_keyboard : undefined;
  return {
    kind: "pressed",
    query: query.id,
    // The line counts as sent by the person who pressed, with their permissions.
    source: buildTelegramSource(message as Message, toMessageSender(query.from)),
    messageId: `callback:${query.id}`,
    line: readButtonLine(data, keyboard),
  };
}
