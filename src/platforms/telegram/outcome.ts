import type { SendOutcome } from "../../ports/platform.ts";
import { formatTelegramFailure, type TelegramFailure } from "./api.ts";

/** The outcome of a message after a failed call. */
export function toSendOutcome(failure: TelegramFailure): Exclude<SendOutcome, { state: "sent" }> {
  const reason = formatTelegramFailure(failure);
  switch (failure.kind) {
    case "unreachable":
      return { state: "not_sent", reason };
    case "lost":
      return { state: "unknown", reason };
    case "answered": {
      const { code, description, retryAfterMs } = failure;
      if (code === 429)
        return { state: "not_sent", reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
      // 500 is about this message; 502 to 504 mean that Telegram is down.
      if (code === 500) return { state: "not_sent", reason, cause: "message" };
      if (code > 500) return { state: "not_sent", reason };
      // About the token, not the message: after the token is fixed, a retry can succeed.
      if (code === 401 || code === 404) {
        return { state: "not_sent", reason: "Telegram does not accept the bot's token." };
      }
      return { state: "refused", reason: explainRefusal(description) ?? reason };
    }
  }
}

const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/blocked by the user/i, "This person has blocked the bot."],
  [/user is deactivated/i, "This account does not exist any more."],
  [
    /initiate conversation|bot can't send messages to bots/i,
    "This person has not started a chat with the bot.",
  ],
  [/kicked|not a member/i, "The bot is no longer in this chat."],
  [/chat not found/i, "Telegram knows no such chat, or the bot has never been in it."],
  [
    /not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|CHAT_SEND_\w+_FORBIDDEN/i,
    "The bot may not write in this chat.",
  ],
  [/TOPIC_CLOSED/i, "The topic is closed."],
];

function explainRefusal(description: string): string | undefined {
  return SENTENCES.find(([pattern]) => pattern.test(description))?.[1];
}

/** The part of a call that Telegram rejected and that can be omitted. */
export type RejectedFeature = "markup" | "thread" | "photo" | "moved";

export function findRejectedFeature(failure: TelegramFailure): RejectedFeature | undefined {
  if (failure.kind !== "answered" || failure.code !== 400) return undefined;
  const { description } = failure;
  if (failure.movedTo !== undefined) return "moved";
  if (/can't parse entities|message text is empty|ENTITY_|entities/i.test(description)) return "markup";
  if (/thread not found|TOPIC_DELETED|TOPIC_ID_INVALID/i.test(description)) return "thread";
  if (/PHOTO_|IMAGE_PROCESS_FAILED|photo/i.test(description)) return "photo";
  return undefined;
}

export function isUnchanged(failure: TelegramFailure): boolean {
  return failure.kind === "answered" && /message is not modified/i.test(failure.description);
}

export function isGone(failure: TelegramFailure): boolean {
  return (
    failure.kind === "answered" &&
    failure.code === 400 &&
    /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|no (text|caption) in the message/i.test(
      failure.description,
    )
  );
}
