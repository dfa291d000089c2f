import type { Message, MessageOrigin } from "grammy/types";
import { toDisplayText } from "../../core/source.ts";

/** Describes content of a message that is neither text nor a file. */
export function describeContent(message: Message): string | undefined {
  const { sticker, venue, location, contact, poll, dice, story } = message;
  if (sticker !== undefined) return `[sticker${sticker.emoji === undefined ? "" : ` ${sticker.emoji}`}]`;
  if (venue !== undefined) {
    const { latitude, longitude } = venue.location;
    return `[place: ${clean(venue.title)}, ${clean(venue.address)} (${latitude}, ${longitude})]`;
  }
  if (location !== undefined) return `[location: ${location.latitude}, ${location.longitude}]`;
  if (contact !== undefined) {
    const name = [contact.first_name, contact.last_name].filter(Boolean).join(" ");
    return `[contact: ${clean(name)}, ${clean(contact.phone_number)}]`;
  }
  if (poll !== undefined) {
    return `[poll: ${clean(poll.question)} ${poll.options.map(({ text }) => clean(text)).join(" / ")}]`;
  }
  if (dice !== undefined) return `[${dice.emoji}: ${dice.value}]`;
  return story === undefined ? undefined : "[a story, which bots cannot see]";
}

/** The maximum length of a quote: enough to identify the message. */
const MAX_QUOTED = 500;

/** The message that this one replies to, as quoted lines. */
export function formatQuote(message: Message): string | undefined {
  const { reply_to_message: reply, quote } = message;
  if (reply?.forum_topic_created !== undefined) return undefined;
  const text =
    quote?.text ??
    reply?.text ??
    reply?.caption ??
    (reply && (describeContent(reply) ?? describeMedia(reply)));
  if (text === undefined || text.trim() === "") return undefined;
  const whole = text.trim();
  const cut = whole.length > MAX_QUOTED ? `${whole.slice(0, MAX_QUOTED - 1)}…` : whole;
  return cut
    .toWellFormed()
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}

export function formatForward(message: Message): string | undefined {
  const { forward_origin: origin } = message;
  return origin === undefined ? undefined : `[forwarded from ${clean(getForwardName(origin))}]`;
}

function getForwardName(origin: MessageOrigin): string {
  switch (origin.type) {
    case "user":
      return [origin.sender_user.first_name, origin.sender_user.last_name].filter(Boolean).join(" ");
    case "hidden_user":
      return origin.sender_user_name;
    case "chat":
      return "title" in origin.sender_chat ? (origin.sender_chat.title ?? "a chat") : "a chat";
    case "channel":
      return origin.chat.title;
  }
}

function describeMedia(message: Message): string | undefined {
  const kind = (["photo", "video", "voice", "audio", "animation", "video_note", "document"] as const).find(
    (name) => message[name] !== undefined,
  );
  return kind === undefined ? undefined : `[${kind.replace("_", " ")}]`;
}

/** Keeps names and titles on one line, within their brackets. */
function clean(text: string): string {
  return toDisplayText(text) ?? "?";
}
