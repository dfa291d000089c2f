import type { Outbound, Sent } from "../../ports/platform.ts";
import type { Answer, TelegramApi } from "./api.ts";
import { keyboardFor } from "./keyboard.ts";
import { isGone, isUnchanged, objectionIn, outcomeOf } from "./outcome.ts";
import { captionFor, chatOf, numberIn, textFor } from "./send.ts";

const EDIT_MS = 30_000;

/** Replaces a message's text, or its caption if it is one with files; files themselves stay. */
export async function edit(
  api: TelegramApi,
  out: Outbound,
  messageId: string,
  signal: AbortSignal,
): Promise<Sent | { readonly state: "gone" }> {
  const id = numberIn(messageId);
  if (id === undefined) return { state: "gone" };
  const texts = out.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = texts.filter((one) => one.trim() !== "").join("\n\n");
  const isText = out.parts.every(({ type }) => type === "text" || type === "resource");
  if (isText && text === "") return { state: "refused", reason: "There is nothing in it to send." };
  const where = {
    chat_id: chatOf(out.target.chatId),
    message_id: id,
    reply_markup: { inline_keyboard: keyboardFor(out.buttons ?? []) },
  };

  const once = (asHtml: boolean): Promise<Answer<unknown>> =>
    api.ask(
      (calls, within): Promise<unknown> =>
        isText
          ? calls.editMessageText(
              { ...where, ...textFor(text, asHtml), link_preview_options: { is_disabled: true } },
              within,
            )
          : calls.editMessageCaption({ ...where, ...captionFor(text, asHtml) }, within),
      { signal, ms: EDIT_MS },
    );

  let answer = await once(true);
  if (!answer.ok && objectionIn(answer.failure) === "markup") answer = await once(false);
  if (answer.ok || isUnchanged(answer.failure)) return { state: "sent", messageId };
  return isGone(answer.failure) ? { state: "gone" } : outcomeOf(answer.failure);
}
