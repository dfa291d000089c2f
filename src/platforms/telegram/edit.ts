import type { Outbound, SendOutcome } from "../../ports/platform.ts";
import type { TelegramAnswer, TelegramApi } from "./api.ts";
import { buildKeyboard } from "./keyboard.ts";
import { findRejectedFeature, isGone, isUnchanged, toSendOutcome } from "./outcome.ts";
import { parseTelegramId, toCaptionFields, toTelegramChatId, toTextFields } from "./send.ts";

const EDIT_MS = 30_000;

/** Replaces the text of a message, or the caption of a message with files. The files stay. */
export async function editTelegramMessage(
  api: TelegramApi,
  out: Outbound,
  messageId: string,
  signal: AbortSignal,
): Promise<SendOutcome | { readonly state: "gone" }> {
  const id = parseTelegramId(messageId);
  if (id === undefined) return { state: "gone" };
  const texts = out.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = texts.filter((one) => one.trim() !== "").join("\n\n");
  const isText = out.parts.every(({ type }) => type === "text" || type === "resource");
  if (isText && text === "") return { state: "refused", reason: "The message is empty." };
  const where = {
    chat_id: toTelegramChatId(out.target.chatId),
    message_id: id,
    reply_markup: { inline_keyboard: buildKeyboard(out.buttons ?? []) },
  };

  const editOnce = (asHtml: boolean): Promise<TelegramAnswer<unknown>> =>
    api.call(
      (calls, within): Promise<unknown> =>
        isText
          ? calls.editMessageText(
              { ...where, ...toTextFields(text, asHtml), link_preview_options: { is_disabled: true } },
              within,
            )
          : calls.editMessageCaption({ ...where, ...toCaptionFields(text, asHtml) }, within),
      { signal, ms: EDIT_MS },
    );

  let answer = await editOnce(true);
  if (!answer.ok && findRejectedFeature(answer.failure) === "markup") answer = await editOnce(false);
  if (answer.ok || isUnchanged(answer.failure)) return { state: "sent", messageId };
  return isGone(answer.failure) ? { state: "gone" } : toSendOutcome(answer.failure);
}
