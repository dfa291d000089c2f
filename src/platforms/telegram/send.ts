import type { InputFile } from "grammy";
import type { Message } from "grammy/types";
import type { Log } from "../../ports/log.ts";
import type { Outbound, SendOutcome } from "../../ports/platform.ts";
import type { TelegramAnswer, TelegramApi, TelegramMethods } from "./api.ts";
import { toHtml } from "./format.ts";
import { buildKeyboard } from "./keyboard.ts";
import { loadGrammy } from "./load-grammy.ts";
import type { ReplyMode } from "./options.ts";
import { findRejectedFeature, toSendOutcome } from "./outcome.ts";
import { type OutgoingFile, planSendCalls, type SendCall } from "./plan-send-calls.ts";

export interface TelegramSender {
  send(out: Outbound, signal: AbortSignal): Promise<SendOutcome>;
}

const TEXT_MS = 30_000;
const UPLOAD_MS = 300_000;
/** The number of partly sent deliveries that are remembered. */
const MAX_PARTLY_SENT = 500;

/** The variant of a call. The next attempt omits the part that Telegram rejected. */
interface SendVariant {
  readonly chat: number | string;
  readonly thread: number | undefined;
  readonly asHtml: boolean;
  readonly asPhoto: boolean;
}

type Signal = Parameters<TelegramMethods["getMe"]>[0];
type Extras = ReturnType<typeof buildExtras>;

export function telegramSender(api: TelegramApi, mode: ReplyMode, log: Log | undefined): TelegramSender {
  const { InputFile } = loadGrammy();
  const asInput = ({ bytes, name }: OutgoingFile): InputFile => new InputFile(bytes, name);
  /** By nonce, the message ids of the completed calls. The next attempt continues after them. */
  const partlySent = new Map<string, readonly number[]>();

  async function sendWithFallback(
    planned: SendCall,
    first: SendVariant,
    extras: Extras,
    signal: AbortSignal,
  ): Promise<TelegramAnswer<Message>> {
    let variant = first;
    const tried = new Set<string>();
    for (;;) {
      const current = variant;
      const ms = planned.type === "text" ? TEXT_MS : UPLOAD_MS;
      const answer = await api.call((calls, within) => call(calls, planned, current, extras, within), {
        signal,
        ms,
      });
      if (answer.ok) return answer;
      const rejected = findRejectedFeature(answer.failure);
      if (rejected === undefined || tried.has(rejected)) return answer;
      tried.add(rejected);
      log?.info(
        { chat: variant.chat, rejected },
        "Telegram rejected a part of a message; sending it without",
      );
      if (rejected === "markup") variant = { ...variant, asHtml: false };
      else if (rejected === "thread") variant = { ...variant, thread: undefined };
      else if (rejected === "photo") variant = { ...variant, asPhoto: false };
      else if (answer.failure.kind === "answered" && answer.failure.movedTo !== undefined) {
        variant = { ...variant, chat: answer.failure.movedTo };
      }
    }
  }

  async function call(
    calls: TelegramMethods,
    planned: SendCall,
    variant: SendVariant,
    extras: Extras,
    signal: Signal,
  ): Promise<Message> {
    const to = {
      chat_id: variant.chat,
      ...(variant.thread !== undefined && { message_thread_id: variant.thread }),
      ...extras,
    };
    if (planned.type === "text") {
      return calls.sendMessage(
        { ...to, ...toTextFields(planned.text, variant.asHtml), link_preview_options: { is_disabled: true } },
        signal,
      );
    }
    const caption = planned.caption === undefined ? {} : toCaptionFields(planned.caption, variant.asHtml);
    const [file, ...more] = planned.files;
    if (file === undefined) throw new Error("a planned call has no files");
    if (more.length > 0) {
      const { reply_markup: _none, ...bare } = to;
      const media = planned.files.map((one, index) => ({
        type: one.isPhoto && variant.asPhoto ? ("photo" as const) : ("document" as const),
        media: asInput(one),
        ...(index === 0 && caption),
      }));
      // `planSendCalls` puts only files of one kind into an album.
      const [sent] = await calls.sendMediaGroup({ ...bare, media: media as never }, signal);
      if (sent === undefined) throw new Error("Telegram returned no message for an album");
      return sent;
    }
    return file.isPhoto && variant.asPhoto
      ? calls.sendPhoto({ ...to, ...caption, photo: asInput(file) }, signal)
      : calls.sendDocument({ ...to, ...caption, document: asInput(file) }, signal);
  }

  return {
    async send(out, signal) {
      const calls = await planSendCalls(out);
      if (calls.length === 0) return { state: "refused", reason: "The message is empty." };
      const done = [...(partlySent.get(out.nonce) ?? [])];
      const variant: SendVariant = {
        chat: toTelegramChatId(out.target.chatId),
        thread: parseTelegramId(out.target.threadId),
        asHtml: true,
        asPhoto: true,
      };
      for (const planned of calls.slice(done.length)) {
        const isFirst = done.length === 0;
        const extras = buildExtras(out, mode === "all" || (mode === "first" && isFirst), isFirst);
        const answer = await sendWithFallback(planned, variant, extras, signal);
        if (!answer.ok) {
          const outcome = toSendOutcome(answer.failure);
          partlySent.delete(out.nonce);
          if (done.length === 0 || outcome.state === "refused") return outcome;
          // A part was sent. This process remembers which part if the rest was certainly not sent; a later process cannot.
          if (outcome.state === "not_sent" && out.nonce !== "") remember(partlySent, out.nonce, done);
          return { ...outcome, state: "unknown" };
        }
        done.push(answer.value.message_id);
      }
      partlySent.delete(out.nonce);
      return { state: "sent", messageId: String(done[0]) };
    },
  };
}

/** The fields of a text, as HTML or as plain text. */
export function toTextFields(text: string, asHtml: boolean): { text: string; parse_mode?: "HTML" } {
  const { html, text: visible } = toHtml(text);
  return asHtml && visible.trim() !== "" ? { text: html, parse_mode: "HTML" } : { text: text.toWellFormed() };
}

export function toCaptionFields(text: string, asHtml: boolean): { caption: string; parse_mode?: "HTML" } {
  const { text: caption, ...mode } = toTextFields(text, asHtml);
  return { caption, ...mode };
}

export function toTelegramChatId(id: string): number | string {
  return parseTelegramId(id) ?? id;
}

export function parseTelegramId(id: string | undefined): number | undefined {
  return id !== undefined && /^-?\d{1,16}$/.test(id) ? Number(id) : undefined;
}

function buildExtras({ replyTo, buttons, quiet }: Outbound, isReply: boolean, isFirst: boolean) {
  const replyId = isReply ? parseTelegramId(replyTo) : undefined;
  const keyboard = isFirst && buttons !== undefined ? buildKeyboard(buttons) : [];
  return {
    // The message may have been deleted; the answer is sent anyway.
    ...(replyId !== undefined && {
      reply_parameters: { message_id: replyId, allow_sending_without_reply: true },
    }),
    ...(quiet && { disable_notification: true }),
    ...(keyboard.length > 0 && { reply_markup: { inline_keyboard: keyboard } }),
  };
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_PARTLY_SENT && oldest !== undefined) map.delete(oldest);
}
