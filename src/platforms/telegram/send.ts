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
/** Deliveries of which a part has gone out and the rest is to follow. */
const MOST_BEGUN = 500;

/** What of a step is asked for. Whatever Telegram objects to is left out at the next try. */
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
  /** By nonce, the ids of the steps that were taken: a further attempt goes on after them. */
  const begun = new Map<string, readonly number[]>();

  async function take(
    step: SendCall,
    first: SendVariant,
    extras: Extras,
    signal: AbortSignal,
  ): Promise<TelegramAnswer<Message>> {
    let shape = first;
    const refused = new Set<string>();
    for (;;) {
      const now = shape;
      const ms = step.type === "text" ? TEXT_MS : UPLOAD_MS;
      const answer = await api.call((calls, within) => call(calls, step, now, extras, within), {
        signal,
        ms,
      });
      if (answer.ok) return answer;
      const objection = findRejectedFeature(answer.failure);
      if (objection === undefined || refused.has(objection)) return answer;
      refused.add(objection);
      log?.info(
        { chat: shape.chat, objection },
        "Telegram did not take a message as it was; trying otherwise",
      );
      if (objection === "markup") shape = { ...shape, asHtml: false };
      else if (objection === "thread") shape = { ...shape, thread: undefined };
      else if (objection === "photo") shape = { ...shape, asPhoto: false };
      else if (answer.failure.kind === "answered" && answer.failure.movedTo !== undefined) {
        shape = { ...shape, chat: answer.failure.movedTo };
      }
    }
  }

  async function call(
    calls: TelegramMethods,
    step: SendCall,
    shape: SendVariant,
    extras: Extras,
    signal: Signal,
  ): Promise<Message> {
    const to = {
      chat_id: shape.chat,
      ...(shape.thread !== undefined && { message_thread_id: shape.thread }),
      ...extras,
    };
    if (step.type === "text") {
      return calls.sendMessage(
        { ...to, ...toTextFields(step.text, shape.asHtml), link_preview_options: { is_disabled: true } },
        signal,
      );
    }
    const caption = step.caption === undefined ? {} : toCaptionFields(step.caption, shape.asHtml);
    const [file, ...more] = step.files;
    if (file === undefined) throw new Error("a step without files");
    if (more.length > 0) {
      const { reply_markup: _none, ...bare } = to;
      const media = step.files.map((one, index) => ({
        type: one.isPhoto && shape.asPhoto ? ("photo" as const) : ("document" as const),
        media: asInput(one),
        ...(index === 0 && caption),
      }));
      // All of one kind, as the steps were made.
      const [sent] = await calls.sendMediaGroup({ ...bare, media: media as never }, signal);
      if (sent === undefined) throw new Error("Telegram gave no message for an album");
      return sent;
    }
    return file.isPhoto && shape.asPhoto
      ? calls.sendPhoto({ ...to, ...caption, photo: asInput(file) }, signal)
      : calls.sendDocument({ ...to, ...caption, document: asInput(file) }, signal);
  }

  return {
    async send(out, signal) {
      const steps = await planSendCalls(out);
      if (steps.length === 0) return { state: "refused", reason: "There is nothing in it to send." };
      const done = [...(begun.get(out.nonce) ?? [])];
      const shape: SendVariant = {
        chat: toTelegramChatId(out.target.chatId),
        thread: parseTelegramId(out.target.threadId),
        asHtml: true,
        asPhoto: true,
      };
      for (const step of steps.slice(done.length)) {
        const isFirst = done.length === 0;
        const extras = buildExtras(out, mode === "all" || (mode === "first" && isFirst), isFirst);
        const answer = await take(step, shape, extras, signal);
        if (!answer.ok) {
          const outcome = toSendOutcome(answer.failure);
          begun.delete(out.nonce);
          if (done.length === 0 || outcome.state === "refused") return outcome;
          // A part of it is there. We know which, as long as we live and the rest surely is not; whoever comes after us does not.
          if (outcome.state === "not_sent" && out.nonce !== "") remember(begun, out.nonce, done);
          return { ...outcome, state: "unknown" };
        }
        done.push(answer.value.message_id);
      }
      begun.delete(out.nonce);
      return { state: "sent", messageId: String(done[0]) };
    },
  };
}

/** What Telegram reads of a text, formatted or as it stands. */
export function toTextFields(text: string, asHtml: boolean): { text: string; parse_mode?: "HTML" } {
  const { html, text: read } = toHtml(text);
  return asHtml && read.trim() !== "" ? { text: html, parse_mode: "HTML" } : { text: text.toWellFormed() };
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
  const answered = isReply ? parseTelegramId(replyTo) : undefined;
  const keyboard = isFirst && buttons !== undefined ? buildKeyboard(buttons) : [];
  return {
    // The message may be gone by now; the answer goes all the same.
    ...(answered !== undefined && {
      reply_parameters: { message_id: answered, allow_sending_without_reply: true },
    }),
    ...(quiet && { disable_notification: true }),
    ...(keyboard.length > 0 && { reply_markup: { inline_keyboard: keyboard } }),
  };
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_BEGUN && oldest !== undefined) map.delete(oldest);
}
