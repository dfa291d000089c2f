import type { CallbackQuery, Message, Update } from "grammy/types";
import type { Source } from "../../core/source.ts";
import { type Attachment, parseAttachment } from "./attachment.ts";
import { describeContent, formatForward, formatQuote } from "./describe-content.ts";
import { type BotUser, isAddressed, isForOtherBot, readTelegramText } from "./is-addressed.ts";
import { readButtonLine } from "./keyboard.ts";
import { buildTelegramSource, isGroupChat, toMessageSender } from "./source.ts";

/** What updates mean to us. Attachments are still with Telegram. */
export type ParsedUpdate =
  | {
      readonly kind: "message" | "edited";
      readonly source: Source;
      readonly messageId: string;
      readonly saidAt: number;
      readonly at: number;
      readonly texts: readonly string[];
      readonly attachments: readonly Attachment[];
    }
  | {
      readonly kind: "pressed";
      readonly query: string;
      readonly source: Source;
      readonly messageId: string;
      /** Absent when the button is too old to say what it meant. */
      readonly line: string | undefined;
    }
  | { readonly kind: "moved"; readonly from: number; readonly to: number }
  | { readonly kind: "nothing" };

export interface ParseOptions {
  readonly me: BotUser;
  readonly requireMention: boolean;
  /** Whether this is the last message that we have sent to its chat: no need to quote it. */
  isOurLast(message: Message): boolean;
}

const NOTHING: ParsedUpdate = { kind: "nothing" };

/** One update, or those of an album in order. */
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
  // A place that is shared live is edited all the time; nobody says anything by it.
  if (isEdit && message.location !== undefined) return NOTHING;
  if (!isForUs(messages, options)) return NOTHING;
  const attachments = messages.flatMap((part) => parseAttachment(part) ?? []);
  const texts = buildTexts(messages, options);
  if (attachments.length === 0 && texts.length === 0) return NOTHING; // a service message
  const saidAt = message.date * 1000;
  return {
    kind: isEdit ? "edited" : "message",
    source: buildTelegramSource(message),
    messageId: String(message.message_id),
    saidAt,
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
  // Two bots that answer each other never end. Who speaks for a chat counts as a bot, and is none.
  if (message.from?.is_bot === true && message.sender_chat === undefined) return false;
  if (!isGroupChat(message.chat)) return true;
  if (messages.some((part) => isForOtherBot(part, me))) return false;
  return !requireMention || messages.some((part) => isAddressed(part, me));
}

function buildTexts(messages: readonly Message[], { me, isOurLast }: ParseOptions): readonly string[] {
  const [message] = messages;
  const said = messages.map((part) => readTelegramText(part, me)).filter((text) => text.trim() !== "");
  const words = messages.flatMap((part) => describeContent(part) ?? []);
  const forwarded = message && formatForward(message);
  // Somebody else's command that is passed on is no command; an own one stays one, whatever it replies to.
  if (forwarded !== undefined) return [forwarded, ...said, ...words];
  if (message === undefined || said[0]?.startsWith("/")) return [...said, ...words];
  const reply = message.reply_to_message;
  const quote = reply !== undefined && isOurLast(reply) ? undefined : formatQuote(message);
  return quote === undefined ? [...said, ...words] : [quote, ...said, ...words];
}

function parsePress(query: CallbackQuery): ParsedUpdate {
  const { message, data } = query;
  // Buttons of inline results are not ours: there is no chat to answer in.
  if (message === undefined || data === undefined) return NOTHING;
  const keyboard = "reply_markup" in message ? message.reply_markup?.inline_keyboard : undefined;
  return {
    kind: "pressed",
    query: query.id,
    // Whoever pressed it is who says the line, with their own rights.
    source: buildTelegramSource(message as Message, toMessageSender(query.from)),
    messageId: `callback:${query.id}`,
    line: readButtonLine(data, keyboard),
  };
}
